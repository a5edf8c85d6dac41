import { describe, expect, test } from "@jest/globals";
import { repositoryName } from "../../../src/core/model/brand.js";
import type { ChangeRequestRef } from "../../../src/core/model/change-request.js";
import { referenceTo } from "../../../src/core/model/host-words.js";
import { anyChangeRequest } from "../../../src/web/server.js";
import { WORDS } from "../../comments/samples.js";

const ref = (host: ChangeRequestRef["host"], repository: string, number: number): ChangeRequestRef => ({
  host,
  repository: repositoryName(repository),
  number,
});

describe("a reference in a sentence", () => {
  test.each([
    ["PR #9", ref("hosta", "acme/deploy", 9), ref("hosta", "acme/deploy", 7)],
    ["MR !9", ref("hostb", "acme/deploy", 9), ref("hostb", "acme/deploy", 7)],
    ["acme/shop#9", ref("hosta", "acme/shop", 9), ref("hosta", "acme/deploy", 7)],
    ["acme/deploy!9", ref("hostb", "acme/deploy", 9), ref("hosta", "acme/deploy", 7)],
    ["acme/deploy#9", ref("hosta", "acme/deploy", 9), ref("hostb", "acme/deploy", 7)],
  ])("%s", (expected, other, reader) => {
    expect(referenceTo(other, reader, WORDS[reader.host])).toBe(expected);
  });
});

test("readers of several hosts read every name of a change request once", () => {
  expect(anyChangeRequest([WORDS.hosta])).toBe("pull request");
  expect(anyChangeRequest([WORDS.hostb, WORDS.hostb], "s")).toBe("merge requests");
  expect(anyChangeRequest([WORDS.hosta, WORDS.hostb])).toBe("pull request or merge request");
});
