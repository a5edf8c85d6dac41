/** https://grpc.io/docs/platforms/web/ */
export const GRPC_WEB = "application/grpc-web+proto";

const HEADER_LENGTH = 5;
/** The flag of a frame that holds trailers instead of a message. */
const TRAILERS = 0x80;

/** What came of a call. */
export type GrpcAnswer =
  | { readonly kind: "message"; readonly message: Uint8Array }
  | { readonly kind: "error"; readonly code: number; readonly text: string }
  /** Not gRPC-Web, compressed, or cut. */
  | { readonly kind: "unreadable" };

/** A message in its frame: a flag, the length in four bytes, and the message. */
export function framed(message: Uint8Array): Uint8Array<ArrayBuffer> {
  const frame = new Uint8Array(HEADER_LENGTH + message.length);
  new DataView(frame.buffer).setUint32(1, message.length);
  frame.set(message, HEADER_LENGTH);
  return frame;
}

/** A refused call has its status in the headers and no body. Otherwise a message and a frame with the trailers follow. */
export function readGrpcAnswer(headers: Headers, bytes: Uint8Array): GrpcAnswer {
  if (!(headers.get("content-type") ?? "").startsWith("application/grpc-web")) return { kind: "unreadable" };
  const early = statusIn((name) => headers.get(name) ?? undefined);
  if (early !== undefined && early.code !== 0) return { kind: "error", ...early };
  const frames = readFrames(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
  const trailers = frames?.find(({ flag }) => flag === TRAILERS);
  const status = trailers && statusIn(membersOf(trailers.content.toString()));
  if (status === undefined) return { kind: "unreadable" };
  if (status.code !== 0) return { kind: "error", ...status };
  const message = frames?.find(({ flag }) => flag === 0);
  return message === undefined ? { kind: "unreadable" } : { kind: "message", message: message.content };
}

interface Frame {
  readonly flag: number;
  readonly content: Buffer;
}

/** Undefined if the bytes end within a frame. */
function readFrames(bytes: Buffer): readonly Frame[] | undefined {
  const frames: Frame[] = [];
  for (let at = 0; at < bytes.length;) {
    if (bytes.length - at < HEADER_LENGTH) return undefined;
    const end = at + HEADER_LENGTH + bytes.readUInt32BE(at + 1);
    if (end > bytes.length) return undefined;
    frames.push({ flag: bytes.readUInt8(at), content: bytes.subarray(at + HEADER_LENGTH, end) });
    at = end;
  }
  return frames;
}

function membersOf(trailers: string): (name: string) => string | undefined {
  const lines = trailers.split(/\r?\n/).map((line) => {
    const colon = line.indexOf(":");
    return [line.slice(0, colon).trim().toLowerCase(), line.slice(colon + 1).trim()] as const;
  });
  const members = new Map(lines);
  return (name) => members.get(name);
}

function statusIn(member: (name: string) => string | undefined): { code: number; text: string } | undefined {
  const status = member("grpc-status");
  if (status === undefined || !/^\d{1,3}$/.test(status)) return undefined;
  return { code: Number(status), text: unescaped(beginning(member("grpc-message") ?? "")) };
}

/** Characters of an error, which may quote whole objects; people are shown 4,000. */
const MAXIMUM_TEXT = 64 * 1024;

/** Whole words only, so that half a token is not taken for something harmless. */
function beginning(text: string): string {
  if (text.length <= MAXIMUM_TEXT) return text;
  const cut = text.slice(0, MAXIMUM_TEXT);
  return cut.slice(0, cut.lastIndexOf(" ") + 1);
}

/** gRPC writes everything but printable ASCII as `%` and two digits. Argo CD leaves most texts as they are. */
function unescaped(text: string): string {
  return text.replace(/(?:%[0-9a-fA-F]{2})+/g, (run) => Buffer.from(run.replaceAll("%", ""), "hex").toString());
}
