import { BinaryReader, BinaryWriter, WireType } from "@bufbuild/protobuf/wire";

/*
 * The messages of `ServerSideDiff` by their numbers of fields.
 * https://github.com/argoproj/argo-cd/blob/v3.5.1/server/application/application.proto
 */

/** `ResourceDiff` as far as this call uses it. */
export interface ResourceDiff {
  readonly group: string;
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  readonly targetState: string;
  readonly liveState: string;
  readonly modified: boolean;
}

export interface ServerSideDiffQuery {
  readonly appName: string;
  readonly appNamespace: string;
  readonly project: string;
  readonly liveResources: readonly ResourceDiff[];
  readonly targetManifests: readonly string[];
}

export interface ServerSideDiffResponse {
  readonly items: readonly ResourceDiff[];
  readonly modified: boolean;
}

/** Numbers of fields in the order of the members. */
const DIFF = { group: 1, kind: 2, namespace: 3, name: 4, targetState: 5, liveState: 6 } as const;
const MODIFIED = 12;

type Fields = ReadonlyMap<number, readonly Uint8Array[]>;

/** Every length-delimited field; others are skipped. */
function read(bytes: Uint8Array): Fields {
  const reader = new BinaryReader(bytes);
  const found = new Map<number, Uint8Array[]>();
  while (reader.pos < reader.len) {
    const [field, type] = reader.tag();
    if (type === WireType.LengthDelimited) found.set(field, [...(found.get(field) ?? []), reader.bytes()]);
    else reader.skip(type, field);
  }
  return found;
}

function texts(fields: Fields, field: number): string[] {
  return (fields.get(field) ?? []).map((bytes) => Buffer.from(bytes).toString());
}

function readDiff(bytes: Uint8Array): ResourceDiff {
  const fields = read(bytes);
  const text = (field: number): string => texts(fields, field).at(-1) ?? "";
  const [group, kind, namespace, name] = [text(1), text(2), text(3), text(4)];
  return { group, kind, namespace, name, targetState: text(5), liveState: text(6), modified: false };
}

export function readQuery(bytes: Uint8Array): ServerSideDiffQuery {
  const fields = read(bytes);
  const text = (field: number): string => texts(fields, field).at(-1) ?? "";
  return {
    appName: text(1),
    appNamespace: text(2),
    project: text(3),
    liveResources: (fields.get(4) ?? []).map(readDiff),
    targetManifests: texts(fields, 5),
  };
}

export function writeResponse({ items, modified }: ServerSideDiffResponse): Uint8Array {
  const writer = new BinaryWriter();
  for (const item of items) {
    writer.tag(1, WireType.LengthDelimited).fork();
    for (const [member, field] of Object.entries(DIFF)) {
      writer.tag(field, WireType.LengthDelimited).string(item[member as keyof typeof DIFF]);
    }
    writer.tag(MODIFIED, WireType.Varint).bool(item.modified).join();
  }
  return writer.tag(2, WireType.Varint).bool(modified).finish();
}
