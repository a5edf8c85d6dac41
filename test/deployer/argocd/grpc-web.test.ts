import { expect, test } from "@jest/globals";
import { readGrpcAnswer } from "../../../src/deployer/argocd/client.js";

const TOKEN = "eyJhbGciOiJIUzI1NiJ9.e30.abc";

function refused(text: string) {
  const headers = { "content-type": "application/grpc-web+proto", "grpc-status": "3" };
  const trailers = Buffer.from(`grpc-status: 3\r\ngrpc-message: ${text}\r\n`);
  const frame = Buffer.concat([Buffer.from([0x80, 0, 0, 0, 0]), trailers]);
  frame.writeUInt32BE(trailers.length, 1);
  return [
    readGrpcAnswer(new Map(Object.entries({ ...headers, "grpc-message": text })), new Uint8Array()),
    readGrpcAnswer(new Map([["content-type", headers["content-type"]]]), frame),
  ];
}

test.each([
  ["spec.selector: field is immutable", "spec.selector: field is immutable"],
  ["%C3%A4 is 100 %", "ä is 100 %"],
  // Escapes that are many megabytes long take seconds to decode.
  [`no: ${"%41".repeat(3_000_000)}`, "no: "],
  [`${"word ".repeat(13_105)}${TOKEN} after`, "word ".repeat(13_105)],
])("an error is read from headers and trailers alike, whole words of it at most: %#", (text, expected) => {
  for (const answer of refused(text)) expect(answer).toEqual({ kind: "error", code: 3, text: expected });
});
