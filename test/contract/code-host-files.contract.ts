import { beforeAll, expect, test } from "@jest/globals";
import type { CodeHost, FileContent } from "../../src/core/ports/code-host.js";
import { ALIAS, type CodeHostUnderTest } from "./code-host-under-test.js";

const OTHER = "acme/platform";
const text = (content: string): FileContent => ({ kind: "text", text: content });

/** Files of repositories other than a change request's. */
export function filesContract(under: () => CodeHostUnderTest): void {
  beforeAll(async () => {
    const { forge } = under();
    await forge.createRepository(OTHER, {
      "rules.yaml": "a: 1\n",
      "link.yaml": { symlink: "rules.yaml" },
      "binary.yaml": "a\0b",
      "folder/rules.yaml": "a: 3\n",
    });
    await forge.pushToBranch(OTHER, "release", { "rules.yaml": "a: 2\n" });
  });
  const read = (more: Partial<Parameters<CodeHost["readFile"]>[0]> = {}) =>
    under().host.readFile({ repoURL: under().forge.cloneUrl(OTHER), path: "rules.yaml", follows: "", ...more });

  test("a file is read at the tip of the default branch, anew each time, in one call", async () => {
    const { forge } = under();
    expect(await read()).toEqual([text("a: 1\n")]);
    await forge.pushToBranch(OTHER, "main", { "rules.yaml": "a: 4\n" });
    const before = forge.requests.length;
    expect(await read({ follows: "HEAD" })).toEqual([text("a: 4\n")]);
    expect(forge.requests.length - before).toBe(1);
  });

  test("what is followed besides comes second, and is absent where there is no such branch", async () => {
    await under().forge.pushToBranch(OTHER, "main", { "rules.yaml": "a: 1\n" });
    const before = under().forge.requests.length;
    expect(await read({ follows: "release" })).toEqual([text("a: 1\n"), text("a: 2\n")]);
    expect(under().forge.requests.length - before).toBe(1);
    expect(await read({ follows: "nowhere" })).toEqual([text("a: 1\n"), { kind: "absent" }]);
  });

  test("a file that does not exist is absent", async () => {
    expect(await read({ path: "nothing.yaml" })).toEqual([{ kind: "absent" }]);
  });

  test("what is no text has none, and a link is not followed", async () => {
    expect(await read({ path: "binary.yaml" })).toEqual([{ kind: "unreadable" }]);
    expect(await read({ path: "folder" })).not.toContainEqual(expect.objectContaining({ kind: "text" }));
    expect(await read({ path: "link.yaml" })).not.toContainEqual(text("a: 1\n"));
  });

  test("each address of the repository is understood, and those of other servers are not", async () => {
    const name = new URL(under().forge.url).hostname;
    for (const repoURL of [
      `git@${name}:${OTHER}.git`,
      `https://${ALIAS}/ACME/Platform/`,
      `ssh://git@${ALIAS}/${OTHER}`,
    ]) {
      expect(await read({ repoURL })).toEqual([text("a: 1\n")]);
    }
    for (const repoURL of [`https://elsewhere.example.com/${OTHER}.git`, "https://charts.example.com", "", ALIAS]) {
      expect(await read({ repoURL })).toBeUndefined();
    }
  });

  test("a repository that is hidden or does not exist fails, with what to check", async () => {
    const { forge, visibilityCure } = under();
    await expect(read({ repoURL: `${forge.url}/acme/hidden.git` })).rejects.toMatchObject({
      name: "HostFailure",
      reason: "not-found",
      message: expect.stringMatching(visibilityCure),
    });
  });
}
