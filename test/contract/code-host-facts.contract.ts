import { expect, test } from "@jest/globals";
import { isOwnRepository } from "../../src/core/detect/tree/repository-url.js";
import { repositoryName } from "../../src/core/model/brand.js";
import { ALIAS, type CodeHostUnderTest } from "./code-host-under-test.js";

/** What a `CodeHost` tells about a change request. */
export function factsContract(under: () => CodeHostUnderTest): void {
  const tip = (branch: string): Promise<string | undefined> =>
    under().store.resolve(under().repository, `refs/heads/${branch}`);

  test("its own account is a bot, the same at each call", async () => {
    const { host } = under();
    const self = await host.self();
    expect(self).toEqual({ id: expect.stringMatching(/^\d+$/), login: expect.any(String), bot: true });
    const before = under().forge.requests.length;
    expect(await host.self()).toEqual(self);
    expect(under().forge.requests).toHaveLength(before);
  });

  test("is reached by a call of its own each time, and is not while it does not answer", async () => {
    const { host, forge } = under();
    await host.reach();
    const before = forge.requests.length;
    await host.reach();
    expect(forge.requests.length).toBeGreaterThan(before);
    forge.faults.add({ fault: { kind: "status", status: 401 } });
    await expect(host.reach()).rejects.toMatchObject({ name: "HostFailure", reason: "unauthenticated" });
    forge.faults.clear();
    await host.reach();
  });

  test("an open one, with all its facts", async () => {
    const { host, repository, forge, title, sigil } = under();
    const change = await under().open({ "apps/web.yaml": "replicas: 2\n" }, { title: "Two", branch: "feature/two" });
    const main = await tip("main");
    expect(change).toEqual({
      host: host.id,
      repository,
      repositoryId: forge.repositoryId(repository),
      number: change.number,
      title: "Two",
      webUrl: expect.stringMatching(new RegExp(`^${forge.url}/${repository}/.*${change.number}$`)),
      author: { id: expect.stringMatching(/^\d+$/), login: "ana", bot: false },
      state: "open",
      draft: false,
      fork: false,
      headBranch: "feature/two",
      baseBranch: "main",
      defaultBranch: "main",
      headRevision: await tip("feature/two"),
      baseRevision: main,
      mergeBase: main,
      mergeability: "mergeable",
      repositoryUrls: expect.arrayContaining([forge.cloneUrl(repository)]),
    });
    expect(title + sigil).toMatch(/^(GitHub#|GitLab!)$/);
  });

  test("a renamed repository is found by its id, also once another one has its name; what was asked of it by name follows it", async () => {
    const { host, forge } = under();
    const [before, after] = [repositoryName("acme/before"), repositoryName("acme/after")];
    await forge.createRepository(before, { "a.yaml": "a: 1\n" });
    forge.setAccess(before, "ana", "write");
    forge.setVisibility(before, "private");
    const number = await forge.open({ repository: before, by: "ana", changes: { "a.yaml": "a: 2\n" } });
    const ref = { host: host.id, repository: before, number };
    const read = await host.getChangeRequest(ref);
    const known = { ...ref, repositoryId: read.repositoryId };
    await forge.renameRepository(before, after);
    const renamed = { repository: after, repositoryId: known.repositoryId, headRevision: read.headRevision };
    expect(await host.getChangeRequest(known)).toMatchObject({ ...renamed, state: "open" });
    expect(await host.state(known)).toBe("open");
    const ana = { id: read.author?.id ?? "", login: "ana", external: false };
    expect(await host.mayRead(known, ana)).toBe(true);

    await forge.createRepository(before, { "a.yaml": "a: 1\n" });
    forge.setAccess(before, "mallory", "write");
    forge.setVisibility(before, "private");
    const other = await forge.open({ repository: before, by: "mallory", changes: { "a.yaml": "a: 3\n" } });
    await forge.close(before, other);
    const newcomer = { ...ref, repositoryId: forge.repositoryId(before), number: other };
    const mallory = { ...ana, id: (await host.getChangeRequest(newcomer)).author?.id ?? "", login: "mallory" };
    expect(await host.getChangeRequest(known)).toMatchObject({ ...renamed, state: "open" });
    expect(await host.state(known)).toBe("open");
    expect(await host.state(newcomer)).toBe("closed");
    expect(await host.mayRead(known, mallory)).toBe(false);
    expect(await host.mayRead(known, ana)).toBe(true);
    expect(await host.mayRead(newcomer, mallory)).toBe(true);
  });

  test("one of a repository that is gone is not found, whoever has its name", async () => {
    const { host, repository, forge } = under();
    const { number } = await under().open({ "gone.yaml": "a: 1\n" });
    const gone = { host: host.id, repository, repositoryId: "987654321", number };
    await expect(host.getChangeRequest(gone)).rejects.toMatchObject({ name: "HostFailure", reason: "not-found" });
    await expect(host.state(gone)).rejects.toMatchObject({ name: "HostFailure", reason: "not-found" });
    expect(forge.repositoryId(repository)).not.toBe(gone.repositoryId);
  });

  test("its repository's URLs are HTTPS and SSH, under the host's own name and under its aliases", async () => {
    const { forge, repository } = under();
    const { repositoryUrls } = await under().open({ "urls.txt": "1" });
    const name = new URL(forge.url).hostname;
    const known = (url: string): boolean => isOwnRepository({ repositoryUrls }, url);
    expect(repositoryUrls).toEqual(
      expect.arrayContaining([`https://${ALIAS}/${repository}.git`, `git@${ALIAS}:${repository}.git`]),
    );
    expect(known(`${forge.url}/${repository}`)).toBe(true);
    expect(known(`git@${name}:${repository}.git`)).toBe(true);
    expect(known(`ssh://git@${ALIAS}/${repository}`)).toBe(true);
    expect(known(`https://${ALIAS}/${repository}-more.git`)).toBe(false);
    expect(known(`https://elsewhere.example.com/${repository}.git`)).toBe(false);
  });

  test("a draft, until it is ready", async () => {
    const { forge, repository } = under();
    const draft = await under().open({ "draft.txt": "1" }, { draft: true });
    expect(draft.draft).toBe(true);
    await forge.markDraft(repository, draft.number, false);
    expect(await under().read(draft.number)).toMatchObject({ draft: false, state: "open" });
  });

  test("a fork, whose head is known in the target repository", async () => {
    const { repository } = under();
    const change = await under().open({ "fork.txt": "1" }, { fork: true, by: "olga", branch: "main" });
    expect(change).toMatchObject({ fork: true, repository, headBranch: "main", author: { login: "olga" } });
    expect(change.headRevision).not.toBe(await tip("main"));
    expect(change.mergeBase).toBe(change.baseRevision);
  });

  test("a base branch that moved on has a new tip and the old merge base", async () => {
    const { forge, repository } = under();
    const before = await under().open({ "moved.txt": "1" });
    const newTip = await forge.pushToBranch(repository, "main", { "base.txt": "1" });
    const after = await under().read(before.number);
    expect(after).toMatchObject({ baseRevision: newTip, mergeBase: before.baseRevision });
    expect(after.headRevision).toBe(before.headRevision);
  });

  test("another base branch, and a head that moved", async () => {
    const { forge, repository } = under();
    await forge.pushToBranch(repository, "release/1.2", { "release.txt": "1" });
    const { number } = await under().open({ "retarget.txt": "1" });
    await forge.retarget(repository, number, "release/1.2");
    const head = await forge.push(repository, number, { "retarget.txt": "2" });
    const change = await under().read(number);
    expect(change).toMatchObject({ baseBranch: "release/1.2", defaultBranch: "main", headRevision: head });
    expect(change.baseRevision).toBe(await tip("release/1.2"));
  });

  test("a closed one keeps the head that it had", async () => {
    const { forge, repository } = under();
    const { number, headRevision } = await under().open({ "closed.txt": "1" });
    expect(await under().host.state(under().ref(number))).toBe("open");
    await forge.close(repository, number);
    expect(await under().read(number)).toMatchObject({ state: "closed", headRevision });
    expect(await under().host.state(under().ref(number))).toBe("closed");
    expect(await under().host.mergeability(under().ref(number))).toBe("unknown");
  });

  test("a merged one", async () => {
    const { forge, repository } = under();
    const { number, headRevision } = await under().open({ "merged.txt": "1" });
    await forge.mergeByHand(repository, number, "bo");
    expect(await under().read(number)).toMatchObject({ state: "merged", headRevision });
    const since = forge.requests.length;
    expect(await under().host.state(under().ref(number))).toBe("merged");
    expect(forge.requests).toHaveLength(since + 1);
    expect(await under().host.mergeability(under().ref(number))).toBe("unknown");
  });

  test("recent activity: open ones by their last change, and people's comments on open and closed ones, oldest first", async () => {
    const { host, forge, repository, ref } = under();
    const known = (number: number) => ({ ...ref(number), repositoryId: forge.repositoryId(repository) });
    const [one, two, closed] = [
      await under().open({ "recent/1.txt": "1" }),
      await under().open({ "recent/2.txt": "2" }),
      await under().open({ "recent/3.txt": "3" }),
    ];
    const since = new Date();
    const own = await host.postComment(ref(one.number), "svc plan", { urgency: "plan" });
    const first = await forge.comment(repository, one.number, "ana", "svc sync");
    const edited = await forge.comment(repository, one.number, "ana", "hello");
    await forge.close(repository, closed.number);
    const second = await forge.comment(repository, closed.number, "bo", "svc rollback");
    const changed = await forge.comment(repository, two.number, "ana", "looks good");
    // Times with whole seconds do not tell such an edit, which anybody with write access can make.
    await forge.editComment(repository, two.number, changed, "bo", "svc sync");
    forge.passTime(1000);
    forge.react(repository, one.number, first, "bo");
    await forge.editComment(repository, one.number, edited, "ana", "svc unlock");
    const head = await forge.push(repository, two.number, { "recent/2.txt": "3" });
    const {
      at,
      heads,
      closed: ended,
      comments,
    } = await host.recentActivity({ repository }, new Date(since.getTime() - 1000));
    expect(Math.abs((at?.getTime() ?? 0) - Date.now())).toBeLessThan(60_000);
    const ours = new Set([one.number, two.number, closed.number]);
    const seen = { baseBranch: "main", draft: false, updatedAt: expect.any(Date), activity: expect.any(String) };
    expect(heads.filter(({ change }) => ours.has(change.number))).toEqual([
      { change: known(one.number), headRevision: one.headRevision, ...seen },
      { change: known(two.number), headRevision: head, ...seen },
    ]);
    expect(ended.filter(({ change }) => ours.has(change.number))).toEqual([
      { change: known(closed.number), closedAt: expect.any(Date) },
    ]);
    const self = await host.self();
    const people = { ana: one.author, bo: expect.objectContaining({ login: "bo", bot: false }) };
    const createdAt = expect.any(Date);
    expect(comments.filter(({ change }) => ours.has(change.number))).toEqual([
      {
        change: known(one.number),
        id: own,
        body: "svc plan",
        author: expect.objectContaining({ id: self.id }),
        createdAt,
      },
      { change: known(one.number), id: first, body: "svc sync", author: people.ana, createdAt },
      { change: known(closed.number), id: second, body: "svc rollback", author: people.bo, createdAt },
    ]);
  });

  test("recent activity: nothing from before, in as many calls as the documents say", async () => {
    const { host, forge, repository } = under();
    await under().open({ "recent/4.txt": "4" });
    const before = forge.requests.length;
    const later = new Date(Date.now() + 2 * 60_000);
    const nothing = { at: expect.any(Date), heads: [], closed: [], comments: [] };
    expect(await host.recentActivity({ repository }, later)).toEqual(nothing);
    expect(forge.requests.length - before).toBe(host.id === "hosta" ? 2 : 1);
    // GitHub does not count the answer that nothing has changed.
    expect(await host.recentActivity({ repository }, later)).toEqual(nothing);
    expect(forge.requests.length - before).toBe(host.id === "hosta" ? 3 : 2);
    const earlier = new Date(Date.now() - 2 * 60_000);
    expect((await host.recentActivity({ repository }, earlier)).heads).not.toEqual([]);
  });

  test("recent activity: tells a draft and a merge, and changes its mark with each comment and review", async () => {
    const { host, forge, repository } = under();
    const since = new Date(Date.now() - 1000);
    const { number } = await under().open({ "recent/5.txt": "5" });
    const marks: (string | undefined)[] = [];
    const look = async () => {
      const { heads } = await host.recentActivity({ repository }, since);
      marks.push(heads.find(({ change }) => change.number === number)?.activity);
      forge.passTime(1000);
    };
    await look();
    await forge.comment(repository, number, "ana", "hello");
    await look();
    await forge.review(repository, number, "bo", "approve");
    await look();
    expect(new Set(marks).size).toBe(3);
    expect(marks).not.toContain(undefined);
    for (const draft of [true, false]) {
      await forge.markDraft(repository, number, draft);
      const { heads } = await host.recentActivity({ repository }, since);
      expect(heads.find(({ change }) => change.number === number)).toMatchObject({ draft });
    }
    await forge.mergeByHand(repository, number, "ana");
    const { heads, closed } = await host.recentActivity({ repository }, since);
    expect(heads.filter(({ change }) => change.number === number)).toEqual([]);
    expect(closed.find(({ change }) => change.number === number)).toBeDefined();
  });

  test("lists the repositories that svc serves; of other owners none where their names are asked for", async () => {
    const { host, repository } = under();
    expect(await host.repositories(() => true)).toContain(repository);
    if (host.id === "hosta") expect(await host.repositories((owner) => owner !== "acme")).not.toContain(repository);
  });

  test("a closed one is still known when its base branch is gone", async () => {
    const { forge, repository, store } = under();
    const base = await forge.pushToBranch(repository, "short-lived", { "short.txt": "1" });
    const { number } = await under().open({ "short.txt": "2" }, { base: "short-lived" });
    await forge.close(repository, number);
    await store.setRef(repository, "refs/heads/short-lived", undefined);
    expect(await under().read(number)).toMatchObject({ state: "closed", baseRevision: base, mergeBase: base });
  });

  test.each([
    ["a number that is not there", { number: 9999 }],
    ["a repository that is not there", { repository: "acme/nowhere" }],
  ])("%s is not found", async (_, changes) => {
    const { host, title, visibilityCure } = under();
    const missing = { ...under().ref(1), ...changes } as Parameters<typeof host.getChangeRequest>[0];
    await expect(host.getChangeRequest(missing)).rejects.toMatchObject({
      name: "HostFailure",
      reason: "not-found",
      message: expect.stringMatching(new RegExp(`^${title} found nothing \\(404\\).*${visibilityCure.source}`)),
    });
  });

  test("mergeable, and in conflict after the base branch changed the same line", async () => {
    const { forge, repository, host } = under();
    await forge.pushToBranch(repository, "main", { "line.txt": "a\n" });
    const { number } = await under().open({ "line.txt": "b\n" });
    expect(await host.mergeability(under().ref(number))).toBe("mergeable");
    await forge.pushToBranch(repository, "main", { "line.txt": "c\n" });
    expect(await host.mergeability(under().ref(number))).toBe("conflicts");
  });

  test.each([
    ["mergeable", {}, "mergeable"],
    ["in conflict", { "late.txt": "other" }, "conflicts"],
  ])("waits for a host that is still computing: %s", async (_, onBase, verdict) => {
    const { forge, repository, host, clock } = under();
    const { number } = await under().open({ "late.txt": verdict });
    if (Object.keys(onBase).length > 0) await forge.pushToBranch(repository, "main", onBase);
    forge.delayMergeability(repository, number, 4);
    const started = clock.now().getTime();
    expect(await host.mergeability(under().ref(number))).toBe(verdict);
    expect(clock.now().getTime() - started).toBe(500 + 1000 + 2000 + 4000);
  });

  test("says unknown, never conflicts, when computing takes longer than 20 seconds", async () => {
    const { forge, repository, host, clock } = under();
    const { number } = await under().open({ "slow.txt": "1" });
    forge.delayMergeability(repository, number, 50);
    const started = clock.now().getTime();
    expect(await host.mergeability(under().ref(number))).toBe("unknown");
    expect(clock.now().getTime() - started).toBeLessThanOrEqual(20_000);
    forge.delayMergeability(repository, number, 0);
  });

  test("an abort ends the waiting with the signal's reason", async () => {
    const { forge, repository, host } = under();
    const { number } = await under().open({ "abort.txt": "1" });
    const controller = new AbortController();
    const reason = new Error("stopped");
    controller.abort(reason);
    forge.delayMergeability(repository, number, 50);
    await expect(host.mergeability(under().ref(number), controller.signal)).rejects.toBe(reason);
    await expect(host.getChangeRequest(under().ref(number), controller.signal)).rejects.toBe(reason);
    forge.delayMergeability(repository, number, 0);
  });

  test("with the same head are listed while they are open: drafts, from forks, into any base, under any branch name", async () => {
    const { host, forge, repository } = under();
    const change = await under().open({ "shared.txt": "1" }, { branch: "shared" });
    const at = change.headRevision;
    await forge.pushToBranch(repository, "other-base", { "other.txt": "1" });
    const same = { changes: {}, repository, by: "bo", at };
    const others = [
      await forge.open({ ...same, branch: "shared", base: "other-base" }),
      await forge.open({ ...same, branch: "shared-too", draft: true }),
      await forge.open({ ...same, branch: "shared-fork", fork: true, by: "olga" }),
    ];
    const all = [change.number, ...others];
    const listed = async () => [...(await host.openWithHead(change)).numbers].sort((left, right) => left - right);
    expect(await listed()).toEqual(all);
    await under().open({ "shared.txt": "2" }, { at, branch: "on-top" });
    await forge.close(repository, change.number);
    expect(await listed()).toEqual(others);
    expect(await host.openWithHead(change)).toMatchObject({ cutOff: undefined });
  });

  test("with the default branch's tip as head are listed, too", async () => {
    const { host, forge, repository } = under();
    await forge.pushToBranch(repository, "prod", { "prod.txt": "1" });
    const at = await forge.pushToBranch(repository, "main", { "main.txt": "1" });
    const number = await forge.open({ repository, by: "ana", changes: {}, at, branch: "promote", base: "prod" });
    expect(await host.openWithHead(await under().read(number))).toEqual({ numbers: [number], cutOff: undefined });
  });
}
