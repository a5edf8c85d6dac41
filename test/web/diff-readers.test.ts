import { describe, expect, test } from "@jest/globals";
import type { Account } from "../../src/core/model/account.js";
import { HostFailure } from "../../src/core/model/errors.js";
import type { Visitor } from "../../src/core/ports/code-host.js";
import type { HostId } from "../../src/names.js";
import { DiffReaders } from "../../src/web/diff-readers.js";
import { configOf, SMALLEST } from "../config/server-file.js";
import { MemoryHost } from "../in-memory/memory-host.js";
import { ManualClock } from "../manual-clock.js";
import { recordingLog } from "../recording-log.js";
import { MERGE, PULL } from "./sample-stores.js";

const SECRET = "session-secret-of-the-tests";

interface Scene {
  readonly readers: DiffReaders;
  readonly clock: ManualClock;
  readonly asked: readonly Visitor[];
  /** What the hosts answer next. */
  answer: () => Promise<boolean>;
}

function start({ auth = "", hosts = ["hosta", "hostb"] as readonly HostId[] } = {}): Scene {
  const clock = new ManualClock();
  const asked: Visitor[] = [];
  const scene = { clock, asked, answer: () => Promise.resolve(true) };
  const config = configOf([
    SMALLEST,
    `auth: {enabled: true, session_secret: ${SECRET}, hosta: {client_id: i, client_secret: s}, ${auth}}`,
  ]);
  const known = hosts.map((id) => {
    const mayRead = (_change: unknown, person: Visitor) => {
      asked.push(person);
      return scene.answer();
    };
    return Object.assign(new MemoryHost({ id, repository: "acme/deploy" } as never), { mayRead });
  });
  const readers = new DiffReaders({ config, hosts: known, clock, log: recordingLog(), timeoutMs: 20 });
  return Object.assign(scene, { readers });
}

const GITLAB = "hostb: {client_id: i, client_secret: s}";

function viewer(id: string, more: Partial<Account> = {}) {
  const provider = id.slice(0, id.indexOf(":")) as Account["provider"];
  const account: Account = { id, provider, username: "ana", email: undefined, role: "user", ...more };
  return { kind: "account", account } as const;
}

describe("who sees diffs", () => {
  test.each([
    ["an account of the host", viewer("hosta:7"), PULL, "", "shown", 1],
    ["an account of the other host", viewer("hosta:7"), MERGE, GITLAB, "hidden", 0],
    ["an account of the other host, as admin", viewer("hosta:7", { role: "admin" }), MERGE, GITLAB, "shown", 0],
    ["an account of the same GitLab", viewer("hostb:7"), MERGE, GITLAB, "shown", 1],
    [
      "an account of another GitLab",
      viewer("hostb:7"),
      MERGE,
      "hostb: {url: https://x.org, client_id: i, client_secret: s}",
      "hidden",
      0,
    ],
    ["an account of OpenID Connect", viewer("oidc:7"), PULL, "", "hidden", 0],
    ["an account of OpenID Connect, with all", viewer("oidc:7"), PULL, "diffs: all", "shown", 0],
    ["an account of OpenID Connect, as admin", viewer("oidc:7", { role: "admin" }), PULL, "", "shown", 0],
    ["nobody, with all", { kind: "anonymous", expired: false } as const, PULL, "diffs: all", "hidden", 0],
    ["anyone, with authentication off", { kind: "unguarded" } as const, PULL, "diffs: all", "hidden", 0],
  ] as const)("%s", async (_who, who, change, auth, kind, asked) => {
    const scene = start({ auth });
    expect([(await scene.readers.ask(who, change)).kind, scene.asked.length]).toEqual([kind, asked]);
  });

  test("the host is asked by the id that the provider gave, with the name of today", async () => {
    const scene = start();
    await scene.readers.ask(viewer("hosta:7", { username: "ana-maria", external: true }), PULL);
    expect(scene.asked).toEqual([{ id: "7", login: "ana-maria", external: true }]);
  });
});

describe("an answer", () => {
  test("is kept per person and repository: a yes for five minutes, a no for one", async () => {
    const scene = start();
    const ask = async (id = "hosta:7") => (await scene.readers.ask(viewer(id), PULL)).kind;
    expect([await ask(), await ask(), scene.asked.length]).toEqual(["shown", "shown", 1]);
    scene.answer = () => Promise.resolve(false);
    expect([await ask("hosta:8"), await ask(), scene.asked.length]).toEqual(["hidden", "shown", 2]);
    scene.clock.advance(60_001);
    expect([await ask("hosta:8"), await ask(), scene.asked.length]).toEqual(["hidden", "shown", 3]);
    scene.clock.advance(4 * 60_000);
    expect([await ask(), scene.asked.length]).toEqual(["hidden", 4]);
  });

  test("that comes too late hides the diff, and counts for the next request", async () => {
    const scene = start();
    let say: (may: boolean) => void = () => undefined;
    scene.answer = () => new Promise((resolve) => (say = resolve));
    const ask = async () => scene.readers.ask(viewer("hosta:7"), PULL);
    const [one, two] = await Promise.all([ask(), ask()]);
    expect([one, two, scene.asked.length]).toEqual([expect.objectContaining({ kind: "hidden" }), one, 1]);
    say(true);
    expect([(await ask()).kind, scene.asked.length]).toEqual(["shown", 1]);
  });

  test("that fails hides the diff and is not kept", async () => {
    const scene = start();
    scene.answer = () => Promise.reject(new HostFailure("failed", "no"));
    expect(await scene.readers.ask(viewer("hosta:7"), PULL)).toEqual({
      kind: "hidden",
      why: "GitHub did not say whether you can read this repository.",
      cure: "Reload the page in a minute.",
    });
    scene.answer = () => Promise.resolve(true);
    expect((await scene.readers.ask(viewer("hosta:7"), PULL)).kind).toBe("shown");
  });

  test("of a host that is no longer configured is not expected", async () => {
    const scene = start({ hosts: ["hostb"] });
    expect((await scene.readers.ask(viewer("hosta:7"), PULL)).kind).toBe("hidden");
  });
});
