import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { gitEnvironment } from "../../sandbox/git/run-git.js";
import { repositoryName } from "../../src/core/model/brand.js";
import type { User } from "../../src/core/model/change-request.js";
import type { CloneSource } from "../../src/core/ports/code-host.js";
import type { CodeHostUnderTest } from "./code-host-under-test.js";

const run = promisify(execFile);

/** Who may command, where git reads, and our own comments. */
export function accessContract(under: () => CodeHostUnderTest): void {
  describe("who may command", () => {
    let author: User;
    let number: number;
    beforeAll(async () => {
      under().forge.setAccess(under().repository, "dana", "write");
      const change = await under().open({ "access.txt": "1" }, { by: "dana" });
      number = change.number;
      author = change.author ?? { id: "", login: "", bot: false };
    });
    const may = (user = author): Promise<boolean> => under().host.mayCommand(under().ref(number), user);

    test.each([
      ["none", false],
      ["read", false],
      ["write", true],
      ["admin", true],
    ] as const)("%s: %s, asked anew each time", async (level, allowed) => {
      under().forge.setAccess(under().repository, "dana", level);
      expect(await may()).toBe(allowed);
    });

    test("not somebody else who took over the login", async () => {
      under().forge.setAccess(under().repository, "dana", "admin");
      expect(await may({ ...author, id: "987654321" })).toBe(false);
    });

    test("not a member whose account is blocked", async () => {
      const { block, forge, repository } = under();
      if (block === undefined) return;
      forge.setAccess(repository, "dana", "admin");
      block("dana");
      expect(await may()).toBe(false);
    });

    test("not a member whom an owner has yet to approve, nor may they read", async () => {
      const { awaitApproval, forge, host, open, ref, repository, team } = under();
      if (awaitApproval === undefined) return;
      forge.setAccess(repository, "gina", "write");
      forge.setTeam(team, ["gina"]);
      const { number: hers, author: gina } = await open({ "awaiting.txt": "1" }, { by: "gina" });
      if (gina === undefined) throw new Error("it has an author");
      const rights = async () => [
        await may(gina),
        await host.mayRead(ref(hers), { ...gina, external: false }),
        await host.belongsToAny(ref(hers), gina, [team]),
      ];
      expect(await rights()).toEqual([true, true, true]);
      awaitApproval("gina");
      expect(await rights()).toEqual([false, false, false]);
    });
  });

  describe("who may read", () => {
    let person: User;
    let number: number;
    beforeAll(async () => {
      under().forge.setAccess(under().repository, "erin", "write");
      const change = await under().open({ "read.txt": "1" }, { by: "erin" });
      number = change.number;
      person = change.author ?? { id: "", login: "", bot: false };
    });
    const may = (who: Partial<User> = {}): Promise<boolean> =>
      under().host.mayRead(under().ref(number), { ...person, ...who, external: false });

    test.each([
      ["private", "none", false],
      ["private", "write", true],
      ["private", "admin", true],
      ["public", "none", true],
    ] as const)("a %s repository with the access %s: %s, asked anew each time", async (visibility, level, allowed) => {
      const { forge, repository } = under();
      forge.setVisibility(repository, visibility);
      forge.setAccess(repository, "erin", level);
      expect(await may()).toBe(allowed);
      forge.setVisibility(repository, "private");
    });

    test("not somebody else who took over the login", async () => {
      under().forge.setAccess(under().repository, "erin", "admin");
      expect(await may({ id: "987654321" })).toBe(false);
    });

    test("nobody, if there is no such repository", async () => {
      const gone = { ...under().ref(number), repository: repositoryName("acme/gone") };
      expect(await under().host.mayRead(gone, { ...person, external: false })).toBe(false);
    });
  });

  describe("where git reads", () => {
    let folder: string;
    beforeAll(async () => {
      folder = await mkdtemp(join(tmpdir(), "contract-clone-"));
      await run("git", ["init", "--quiet", "--bare", folder], { env: gitEnvironment() });
    });
    afterAll(() => rm(folder, { recursive: true, force: true }));

    /** Credentials go through the environment alone, as the service hands them on. */
    async function fetchHead({ url, headRef, authorization }: CloneSource): Promise<string> {
      const header = {
        GIT_CONFIG_COUNT: "1",
        GIT_CONFIG_KEY_0: "http.extraHeader",
        GIT_CONFIG_VALUE_0: `Authorization: ${authorization ?? ""}`,
      };
      const env = gitEnvironment(authorization === undefined ? {} : header);
      await run("git", ["-C", folder, "fetch", "--quiet", url, `+${headRef}:refs/head`], { env });
      const { stdout } = await run("git", ["-C", folder, "rev-parse", "refs/head"], { env });
      return stdout.trim();
    }

    test.each([
      ["the same repository", {}],
      ["a fork", { fork: true, by: "olga" }],
    ])("the head of %s, after each push", async (_, more) => {
      const { forge, repository, host } = under();
      const change = await under().open({ "clone.txt": "1" }, more);
      const source = await host.cloneSource(under().ref(change.number));
      expect(new URL(source.url)).toMatchObject({ username: "", password: "", origin: forge.url });
      expect(await fetchHead(source)).toBe(change.headRevision);
      const head = await forge.push(repository, change.number, { "clone.txt": "2" });
      expect(await fetchHead(await host.cloneSource(under().ref(change.number)))).toBe(head);
    });

    test("not without the credentials", async () => {
      const change = await under().open({ "closed-clone.txt": "1" });
      const source = await under().host.cloneSource(under().ref(change.number));
      await expect(fetchHead({ ...source, authorization: undefined })).rejects.toThrow(/git/);
      await expect(fetchHead({ ...source, authorization: "Basic bm9ib2R5Ondyb25n" })).rejects.toThrow(/git/);
    });
  });

  describe("comments", () => {
    const MARKER = "<!-- svc:plan -->";

    test("are posted as they are, and edited in place", async () => {
      const { host, forge, repository } = under();
      const { number } = await under().open({ "comment.txt": "1" });
      const text = `${MARKER}\n**Plan** \`web\` 🚀\n\n\`\`\`diff\n-a: 1\n+a: "é"\n /merge\n\`\`\``;
      const id = await host.postComment(under().ref(number), text, { urgency: "result" });
      const second = await host.postComment(under().ref(number), "second", { urgency: "result" });
      await host.editComment(under().ref(number), id, "stale");
      const self = await host.self();
      expect(forge.changeRequest(repository, number).comments).toEqual([
        { id, author: self.login, body: "stale", edited: true, reactions: [], minimised: false },
        { id: second, author: self.login, body: "second", edited: false, reactions: [], minimised: false },
      ]);
    });

    test("of our own account are listed, oldest first; a person's with our marker is not", async () => {
      const { host, forge, repository } = under();
      const { number } = await under().open({ "list.txt": "1" });
      const first = await host.postComment(under().ref(number), `${MARKER}\none`, { urgency: "result" });
      await forge.comment(repository, number, "olga", `${MARKER}\nforged`);
      await forge.comment(repository, number, "renovate[bot]", `${MARKER}\nforged by a program`);
      const second = await host.postComment(under().ref(number), `${MARKER}\ntwo`, { urgency: "result" });
      expect(await host.listOwnComments(under().ref(number))).toEqual([
        { id: first, body: `${MARKER}\none` },
        { id: second, body: `${MARKER}\ntwo` },
      ]);
    });

    test("are found behind more than a page of other people's", async () => {
      const { host, forge, repository } = under();
      const { number } = await under().open({ "pages.txt": "1" });
      const first = await host.postComment(under().ref(number), "first", { urgency: "result" });
      for (let at = 0; at < 101; at += 1) await forge.comment(repository, number, "olga", `remark ${at}`);
      const last = await host.postComment(under().ref(number), "last", { urgency: "result" });
      const listed = await host.listOwnComments(under().ref(number));
      expect(listed.map(({ id }) => id)).toEqual([first, last]);
    });

    test("that are too long are refused, and nothing is posted", async () => {
      const { host, title, longestComment } = under();
      const { number } = await under().open({ "long.txt": "1" });
      await host.postComment(under().ref(number), "x".repeat(longestComment), { urgency: "result" });
      await expect(
        host.postComment(under().ref(number), "x".repeat(longestComment + 1), { urgency: "result" }),
      ).rejects.toMatchObject({
        reason: "rejected",
        message: expect.stringMatching(new RegExp(`^${title} refused to post a comment`)),
      });
      expect(await host.listOwnComments(under().ref(number))).toHaveLength(1);
    });

    test("that are gone cannot be edited", async () => {
      const { number } = await under().open({ "gone.txt": "1" });
      await expect(under().host.editComment(under().ref(number), "7", "text")).rejects.toMatchObject({
        reason: "not-found",
      });
    });
  });
}
