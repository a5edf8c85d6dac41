import { afterEach, describe, expect, test } from "@jest/globals";
import { applicationName, repositoryName, revision } from "../../../src/core/model/brand.js";
import type { ChangeRequestRef } from "../../../src/core/model/change-request.js";
import { DeployerFailure } from "../../../src/core/model/errors.js";
import type { AuditEntry } from "../../../src/core/ports/audit.js";
import { MemoryMarkStore } from "../../../src/store/memory/lock-store.js";
import { DiffReaders } from "../../../src/web/diff-readers.js";
import { nameChanges } from "../../../src/web/pages/page.js";
import { evaluated, sampleApplication as samplePlanned, samplePlan } from "../../comments/samples.js";
import { configOf, SMALLEST } from "../../config/server-file.js";
import { sampleApplication } from "../../core/sample-application.js";
import { MemoryHost } from "../../in-memory/memory-host.js";
import { ManualClock } from "../../manual-clock.js";
import { recordingLog } from "../../recording-log.js";
import { fillStores, HEAD, PULL } from "../sample-stores.js";
import { type SiteOptions, type SiteUnderTest, startSite } from "../site-under-test.js";
import type { Visitor } from "../visitor.js";

const CHANGE = "/changes/github/acme/deploy/7";
const EVIL = '"><script>alert(1)</script>';
const running = new Set<SiteUnderTest>();

afterEach(async () => {
  const sites = [...running];
  running.clear();
  await Promise.all(sites.map((site) => site.stop()));
});

async function filled(options: SiteOptions = {}): Promise<[Visitor, SiteUnderTest]> {
  const site = await startSite(options);
  running.add(site);
  await fillStores(site.stores, site.clock);
  return [options.auth === false ? site.stranger() : await site.visitor("ana"), site];
}

/** An Argo CD that lists these, by name with health and sync state, and counts how often it is asked. */
function listing(all: Readonly<Record<string, readonly [health: string, sync: string]>>) {
  const asked = { times: 0 };
  const listApplications = async () => {
    asked.times += 1;
    return Object.entries(all).map(([name, [health, sync]]) => ({
      ...sampleApplication(name, { destination: {}, project: "default" }),
      listed: { health, sync },
    }));
  };
  return { asked, deployer: { listApplications } };
}

const rowOf = (text: string, application: string) =>
  text.split('<tr role="row">').find((row) => row.includes(`>${application}</a></strong>`)) ?? "";

describe("the applications", () => {
  test("are all that Argo CD lists, with health, sync state, last deployment and lock, from one call", async () => {
    const { asked, deployer } = listing({
      web: ["Degraded", "OutOfSync"],
      docs: ["Healthy", "Synced"],
      "team/never": ["Progressing", "Synced"],
      [EVIL]: [EVIL, EVIL],
    });
    const [visitor] = await filled({ deployer });
    const { text } = await visitor.ask("/applications");
    for (const shown of ['badge bad">Degraded', 'badge attention">OutOfSync', "deployed, not merged", "ba5eba11"]) {
      expect(rowOf(text, "web")).toContain(shown);
    }
    expect(rowOf(text, "docs")).toContain("merged or rolled back");
    for (const shown of [
      "no recent one by svc",
      "Progressing",
      "/applications/team/never",
      "timeline?application=team%2Fnever",
    ]) {
      expect(rowOf(text, "team/never")).toContain(shown);
    }
    // It is locked, and Argo CD does not list it.
    expect(rowOf(text, "api")).toContain("not there");
    expect(text).not.toContain("<script>");
    expect(asked.times).toBe(1);
  });

  test.each([
    ["unhealthy", ["team", "web"]],
    ["out-of-sync", ["web"]],
    ["locked", ["api", "argocd-extra/shop", "web"]],
    ["open", ["web"]],
    ["made-up", ["api", "argocd-extra/shop", "docs", "team", "web"]],
  ])("with the state %s are %j", async (state, names) => {
    const { deployer } = listing({
      web: ["Degraded", "OutOfSync"],
      docs: ["Healthy", "Synced"],
      team: ["Progressing", "Synced"],
    });
    const [visitor] = await filled({ deployer });
    const { text } = await visitor.ask(`/applications?state=${state}`);
    expect([...text.matchAll(/<strong><a [^>]*>([^<]+)</g)].map(([, name]) => name)).toEqual(names);
  });

  test("are what svc deployed or locked for those who are not logged in: Argo CD is not asked for them", async () => {
    const { asked, deployer } = listing({ web: ["Degraded", "OutOfSync"], secret: ["Healthy", "Synced"] });
    const [stranger] = await filled({ deployer, auth: false });
    for (const path of ["/applications", "/applications?state=unhealthy", "/timeline?application=web"]) {
      const { status, text } = await stranger.ask(path);
      expect([path, status]).toEqual([path, 200]);
      expect(text).not.toMatch(/secret|Degraded|OutOfSync/);
    }
    expect((await stranger.ask("/timeline?application=secret")).status).toBe(404);
    expect(asked.times).toBe(0);
  });

  test("say so while Argo CD is away, and show what svc knows", async () => {
    const listApplications = () => Promise.reject(new DeployerFailure("unreachable", "failed to connect to Argo CD"));
    const [visitor] = await filled({ deployer: { listApplications } });
    const { status, text } = await visitor.ask("/applications");
    expect([status, text]).toEqual([200, expect.stringContaining("failed to connect to Argo CD")]);
    expect(rowOf(text, "web")).toContain("unknown");
  });

  test("of 10,000 are read 50 at a time, and filtered before", async () => {
    const names = Array.from({ length: 10_000 }, (_, index) => `app-${String(index).padStart(5, "0")}`);
    const { deployer } = listing(Object.fromEntries(names.map((name) => [name, ["Healthy", "Synced"]] as const)));
    const [visitor] = await filled({ deployer });
    const shown = (text: string) => [...text.matchAll(/<strong><a [^>]*>(app-\d+)</g)].map(([, name]) => name);
    await visitor.ask("/applications?q=app-");
    const { text } = await visitor.ask("/applications?q=app-&page=2");
    expect(shown(text)).toEqual(names.slice(50, 100));
    expect(text).toContain("Page 2 of 200, 10000 applications");
    const next = /href="([^"]+)">Next/.exec(text)?.[1]?.replaceAll("&amp;", "&") ?? "";
    expect(shown((await visitor.ask(next)).text)[0]).toBe("app-00100");
    expect(shown((await visitor.ask("/applications?q=app-0999")).text)).toHaveLength(10);
    for (const odd of ["0", "-1", "201", "9999999", "x"]) {
      expect([odd, shown((await visitor.ask(`/applications?q=app-&page=${odd}`)).text).length]).toEqual([odd, 50]);
    }
  });
});

describe("the timeline of an application", () => {
  test("still knows the application where no older entry follows", async () => {
    const [stranger] = await filled({ auth: false });
    expect((await stranger.ask("/timeline?application=docs")).status).toBe(200);
    const { status, text } = await stranger.ask("/timeline?application=docs&before=1");
    expect([status, text]).toEqual([200, expect.stringContaining("None among these entries.")]);
  });

  const docs = applicationName("docs");
  const entry = (more: Partial<AuditEntry>): AuditEntry => ({
    at: new Date(0).toISOString(),
    runId: "run-x",
    delivery: "d-x",
    who: { host: "hosta", id: "12", login: "bo" },
    change: PULL,
    head: HEAD,
    action: "synced",
    command: "sync",
    applications: [
      { application: docs, outcome: "succeeded", detail: undefined },
      { application: applicationName("payments"), outcome: "succeeded", detail: undefined },
    ],
    reason: undefined,
    ...more,
  });

  test("says what was deployed and rolled back by whom, from where and for how long, and nothing else", async () => {
    const { deployer } = listing({ docs: ["Healthy", "Synced"] });
    const [visitor, site] = await filled({ deployer });
    const skipped = [{ application: docs, outcome: "skipped", detail: undefined }];
    for (const one of [
      entry({ action: "rolled-back", command: "rollback", seconds: 42 }),
      entry({ action: "planned", command: "plan" }),
      entry({ reason: "dry run" }),
      entry({ applications: skipped }),
      entry({ applications: [{ application: docs, outcome: "failed", detail: undefined }], seconds: 600 }),
      entry({ action: "rolled-out", who: "svc", reason: "merged as c0ffee00" }),
    ]) {
      await site.stores.audit.record(one);
    }
    const { text } = await visitor.ask("/timeline?application=docs");
    const badges = [...text.matchAll(/data-label="What"><span class="badge[^"]*">([^<]+)</g)].map(([, what]) => what);
    expect(badges).toEqual(["followed after the merge", "sync failed", "rolled back", "synced"]);
    for (const shown of ["42 s", "10 min", ">acme/deploy#7</a>", "bo", "Healthy", "about the last 10,000 entries"]) {
      expect(text).toContain(shown);
    }
    expect(text).not.toContain("payments");
  });

  test("is read a page at a time, also where a page has nothing to show", async () => {
    const [visitor, site] = await filled();
    for (let index = 0; index < 3; index += 1) await site.stores.audit.record(entry({ reason: "dry run" }));
    const first = (await visitor.ask("/timeline?application=docs&limit=3")).text;
    expect(first).toContain("None among these entries.");
    const older = /href="([^"]+)">Older/.exec(first)?.[1]?.replaceAll("&amp;", "&") ?? "";
    expect((await visitor.ask(older)).text).toContain("synced</span>");
  });

  test.each([
    ["/timeline", 400, "Which application?"],
    ["/timeline?application=none", 404, "svc knows no application called none"],
    [`/timeline?application=${encodeURIComponent(EVIL)}`, 404, "&lt;script&gt;"],
    ["/timeline?application=docs&before=x", 400, "must be the id of an entry"],
  ])("%s answers %i", async (path, status, words) => {
    const [visitor] = await filled();
    const answer = await visitor.ask(path);
    expect([answer.status, answer.text]).toEqual([status, expect.stringContaining(words)]);
    expect(answer.text).not.toContain("<script>");
  });

  test("names lock, queue and what is not merged", async () => {
    const [visitor, site] = await filled();
    await site.stores.waiting.join(applicationName("web"), { ...PULL, number: 21 });
    const { text } = await visitor.ask("/timeline?application=web");
    for (const shown of ["deployed, not merged", "ba5eba11", ">acme/deploy#21</a>", "next: "]) {
      expect(text).toContain(shown);
    }
  });
});

describe("titles and states of change requests", () => {
  const next: ChangeRequestRef = { ...PULL, number: 21 };
  const PATHS = ["/", "/activity", "/applications", "/timeline?application=web"];

  async function described(options: SiteOptions = {}): Promise<[Visitor, SiteUnderTest]> {
    const [visitor, site] = await filled(options);
    await site.stores.waiting.join(applicationName("web"), next);
    await site.stores.marks.describe(PULL, { title: `Scale ${EVIL}`, state: "open", draft: true });
    await site.stores.marks.describe(next, { title: "The next one", state: "open", draft: false });
    return [visitor, site];
  }

  test("are on the pages of those who see the diffs, escaped, and a filter of the locks finds the title", async () => {
    const [visitor, site] = await described();
    for (const path of PATHS) {
      const { text } = await visitor.ask(path);
      expect([path, text.includes("Scale &#34;&gt;&lt;script&gt;")]).toEqual([path, true]);
      expect(text).not.toContain("<script>");
    }
    const locks = (await visitor.ask("/?q=scale")).text;
    expect(locks).toContain('<span class="badge attention">draft</span>');
    expect(locks).toMatch(/title="The next one">acme\/deploy#21<\/a> \(asked <time /);
    await site.stores.marks.describe(PULL, { title: "Scale", state: "merged", draft: false });
    expect((await visitor.ask("/")).text).toContain('<span class="badge ">merged</span>');
  });

  test.each([{ auth: false as const }, { auth: { diffs: "readers" } }])(
    "are kept from those who see no diffs, with %j",
    async (options) => {
      const [visitor] = await described(options);
      for (const path of [...PATHS, "/?q=scale", CHANGE]) {
        const { text } = await visitor.ask(path);
        expect([path, /script&gt;|The next one|badge attention">draft/.test(text)]).toEqual([path, false]);
      }
    },
  );

  test("are of repositories that the person may read alone; a page asks the host about 20 of them at most", async () => {
    const asked: string[] = [];
    const mayRead = async ({ repository }: ChangeRequestRef) => asked.push(repository) !== 2;
    const host = Object.assign(new MemoryHost({ id: "hosta", repository: "acme/deploy" } as never), { mayRead });
    const clock = new ManualClock();
    const login = "session_secret: session-secret-of-the-tests, hosta: {client_id: i, client_secret: s}";
    const config = configOf([SMALLEST, `auth: {enabled: true, ${login}}`]);
    const readers = new DiffReaders({ config, hosts: [host], clock, log: recordingLog() });
    const marks = new MemoryMarkStore(clock);
    const changes = Array.from({ length: 60 }, (_, index): ChangeRequestRef => {
      return { host: "hosta", repository: repositoryName(`acme/repo-${index % 30}`), number: index + 1 };
    });
    for (const one of changes) {
      await marks.describe(one, { title: `Number ${one.number}`, state: "open", draft: false });
    }
    const account = { id: "hosta:1", provider: "hosta", username: "ana", email: undefined, role: "user" } as const;
    const nameOf = await nameChanges(changes, { kind: "account", account }, { marks, readers, hostPageOf: () => "" });
    expect(asked).toHaveLength(20);
    const titled = changes.map(nameOf).flatMap(({ title }, index) => (title === undefined ? [] : [index]));
    const first = Array.from({ length: 20 }, (_, index) => index).filter((index) => index !== 1);
    expect(titled).toEqual([...first, ...first.map((index) => index + 30)]);
  });
});

test("the activity says how long commands took, and each row is short", async () => {
  const [visitor, site] = await filled();
  const names = ["a", "b", "c", "d", "e"].map(applicationName);
  await site.stores.audit.record({
    at: site.clock.now().toISOString(),
    runId: "run-y",
    delivery: "d-y",
    who: "svc",
    change: PULL,
    head: revision("ba5eba11".repeat(5)),
    action: "synced",
    command: "sync",
    applications: names.map((application, index) => {
      return { application, outcome: index < 4 ? "skipped" : "unknown", detail: undefined };
    }),
    reason: undefined,
    seconds: 7,
  });
  const { text } = await visitor.ask("/activity");
  expect(text).toContain("<summary>a, b, c and 1 more were skipped: no changes; e has an unknown end</summary>");
  expect(text).toContain('data-label="Took">7 s</td>');
});

test("a warning of the plan is shown as one", async () => {
  const [visitor, site] = await filled();
  const web = samplePlanned("web", { ...evaluated([]), warnings: ["its branch is behind `main`"] });
  await site.stores.plans.save(samplePlan([web], { change: PULL }));
  const { text } = await visitor.ask(CHANGE);
  expect(text).toMatch(/<div class="notice"><strong>Warning<\/strong><ul><li>its branch is behind <code>main<\/code>/);
});
