import { afterEach, describe, expect, test } from "@jest/globals";
import { applicationName } from "../../../src/core/model/brand.js";
import {
  DeployerFailure,
  HostFailure,
  StoredValueUnreadable,
  StoreUnavailable,
} from "../../../src/core/model/errors.js";
import { wrapPort } from "../../../src/observe/wrap-port.js";
import type { Stores } from "../../../src/store/stores.js";
import { evaluated, resource, sampleApplication, sampleCheck, samplePlan } from "../../comments/samples.js";
import { MemoryHost } from "../../in-memory/memory-host.js";
import { expectDescribed } from "../api/described.js";
import { failedSync, fillStores, HEAD, PULL } from "../sample-stores.js";
import { SESSION_TTL_MS, startSite, type Person, type SiteOptions, type SiteUnderTest } from "../site-under-test.js";
import type { Visitor } from "../visitor.js";

const CHANGE = "/changes/github/acme/deploy/7";
const PAGES = [
  "/",
  "/applications",
  "/timeline?application=web",
  "/activity",
  "/users",
  "/status",
  CHANGE,
  "/changes/gitlab/acme%2Fshop/deploy/3",
];

describe.each(["memory", "redis"] as const)("over the store %s", (store) => {
  const running = new Set<SiteUnderTest>();

  afterEach(async () => {
    const sites = [...running];
    running.clear();
    await Promise.all(sites.map((site) => site.stop()));
  });

  async function start(options: SiteOptions = {}): Promise<SiteUnderTest> {
    const site = await startSite({ store, ...options });
    running.add(site);
    return site;
  }

  async function filled(options: SiteOptions = {}, person: Person = "ana"): Promise<[Visitor, SiteUnderTest]> {
    const site = await start(options);
    await fillStores(site.stores, site.clock);
    return [options.auth === false ? site.stranger() : await site.visitor(person), site];
  }

  describe("access", () => {
    test.each(PAGES)("%s leads anonymous visitors to the login, and back", async (path) => {
      const site = await start();
      const answer = await site.stranger().ask(path);
      expect([answer.status, answer.headers.get("location")]).toEqual([
        302,
        `/login?return_to=${encodeURIComponent(path)}`,
      ]);
      expect(answer.headers.get("cache-control")).toBe("no-store");
    });

    test("a session that has expired leads to the login, which says so", async () => {
      const site = await start();
      const visitor = await site.visitor("ana");
      site.clock.advance(SESSION_TTL_MS + 1000);
      const answer = await visitor.open("/");
      expect(answer.url.pathname).toBe("/login");
      expect(answer.text).toContain("Session expired");
    });

    test.each([
      ["olga", 200],
      ["ana", 403],
    ] as const)("the users are shown to %s with %i", async (person, status) => {
      const [visitor] = await filled({}, person);
      const answer = await visitor.ask("/users");
      expect(answer.status).toBe(status);
      expect(answer.text.includes("data-method")).toBe(status === 200);
      expect(answer.text).toContain(status === 200 ? "Change the role of olga" : "Only for admins");
    });

    test.each([
      ["olga", true],
      ["ana", false],
    ] as const)("%s sees controls for admins: %s", async (person, sees) => {
      const [visitor] = await filled({}, person);
      const { text } = await visitor.ask("/");
      expect([text.includes("Unlock"), text.includes('href="/users"'), text.includes("act.js")]).toEqual([
        sees,
        sees,
        sees,
      ]);
    });
  });

  describe("with authentication off", () => {
    test.each(["/", "/applications", "/activity", "/status", CHANGE])(
      "%s is readable and says why it shows less",
      async (path) => {
        const [visitor] = await filled({ auth: false });
        const { status, text } = await visitor.ask(path);
        expect([status, text]).toEqual([200, expect.stringContaining("Authentication is off")]);
        for (const absent of ["Unlock", "Sign out", 'href="/users"', "as account svc"]) {
          expect(text).not.toContain(absent);
        }
      },
    );

    test("a change request shows counts, and no content of manifests", async () => {
      const [visitor] = await filled({ auth: false });
      const { text } = await visitor.ask(CHANGE);
      expect(text).toContain("1 to create · 1 to update · 1 to delete");
      expect(text).toContain("3 changed resources are not shown, because authentication is off");
      for (const absent of ["replicas", "settings", "PersistentVolumeClaim", "helm:", "broken.yaml", "copy.yaml"]) {
        expect(text).not.toContain(absent);
      }
    });

    test("there are no users", async () => {
      const [visitor] = await filled({ auth: false });
      expect((await visitor.ask("/users")).status).toBe(403);
    });
  });

  describe("the locks", () => {
    const rowsOf = (text: string) => [...text.matchAll(/<li>\s*<strong>([^<]+)</g)].map(([, name]) => name);

    test.each([
      ["/", ["api", "web", "argocd-extra/shop"]],
      ["/?q=SHOP", ["argocd-extra/shop"]],
      ["/?q=deploy%237", ["api", "web"]],
      ["/?q=bo", ["argocd-extra/shop"]],
      ["/?q=a&q=b", ["api", "web", "argocd-extra/shop"]],
      ["/?__proto__=x&q=web", ["web"]],
    ])("%s shows %j", async (path, names) => {
      const [visitor] = await filled();
      const { status, text } = await visitor.ask(path);
      expect([status, rowsOf(text)]).toEqual([200, names]);
    });

    test("are grouped by the change request that holds them, the longest held first", async () => {
      const [visitor, site] = await filled({}, "olga");
      const headings = async () => {
        const { text } = await visitor.ask("/");
        return [...text.matchAll(/<h2[^>]*><a href="[^"]+">([^<]+)</g)].map(([, name]) => name);
      };
      expect(await headings()).toEqual(["acme/deploy#7", "acme/shop/deploy!3"]);
      for (const application of ["api", "web"].map(applicationName)) {
        await site.stores.locks.release(application, PULL);
        site.clock.advance(1000);
        const request = { application, holder: PULL, user: "ana", planRevision: HEAD, sourceFile: undefined };
        await site.stores.locks.acquire(request, site.clock.now());
      }
      expect(await headings()).toEqual(["acme/shop/deploy!3", "acme/deploy#7"]);
    });

    test("of one change request have one button for all of them, whatever the filter hides", async () => {
      const [visitor] = await filled({}, "olga");
      const { text } = await visitor.ask("/?q=web");
      expect([...text.matchAll(/data-path="([^"]+)"/g)].map(([, path]) => path)).toEqual([
        "/api/v1/locks?change=hosta%2Facme%2Fdeploy%2F7",
        "/api/v1/locks/web",
        "/api/v1/holds",
      ]);
      expect(text).toContain("Unlock all 2 applications of acme/deploy#7?");
      expect((await visitor.ask("/?q=shop")).text).not.toContain("Unlock all");
    });

    test.each([
      [0, "just now"],
      [30 * 60_000, "30 min ago"],
      [5 * 3_600_000, "5 h ago"],
      [3 * 24 * 3_600_000, "3 days ago"],
    ])("are, after %i ms, of %s", async (ms, age) => {
      const [visitor, site] = await filled({ auth: false });
      site.clock.advance(ms);
      expect((await visitor.ask("/")).text).toContain(`>${age}</time>`);
    });

    test("name who waits for each, the next first", async () => {
      const [visitor, site] = await filled();
      for (const number of [21, 22, 23, 24]) {
        await site.stores.waiting.join(applicationName("web"), { ...PULL, number });
      }
      const { text } = await visitor.ask("/");
      const [, queue = ""] = /<span class="soft">next: (.*?)<\/span>/.exec(text) ?? [];
      expect([...queue.matchAll(/deploy#(\d+)<\/a>/g)].map(([, number]) => number)).toEqual(["21", "22", "23"]);
      expect(queue).toContain(" and 1 more");
    });

    test("none at all says what to do; no match says so", async () => {
      const site = await start();
      const visitor = await site.visitor("ana");
      expect((await visitor.ask("/")).text).toContain("No application is locked.");
      await fillStores(site.stores, site.clock);
      expect((await visitor.ask("/?q=%3Cb%3E")).text).toContain("matches “&lt;b&gt;”");
    });
  });

  describe("a change request", () => {
    test("shows everything of its plan, coloured, and links its host", async () => {
      const [visitor] = await filled();
      const { text } = await visitor.ask(CHANGE);
      for (const shown of [
        'href="https://github.com/acme/deploy/pull/7"',
        '<span class="line removed">-  <span class="key">replicas</span>:<span class="value"> 1</span>',
        '<span class="text"> &#34;value 39&#34;</span>',
        "helm: &lt;values&gt; not found",
        "an earlier commit is deployed",
        "deletes the PersistentVolumeClaim",
        "Kubernetes accepts 2 changed objects; not tried: Secret shop/settings-key (its values are hidden).",
        "may not <code>get</code> one",
        "ApplicationSet tenants",
        "<p>Source file: <code>argocd/tenants.yaml</code></p>",
        "ApplicationSet of-the-platform",
        "<p>Source file: not in this repository; the ApplicationSet reads files of this repository</p>",
        "argocd/broken.yaml could not be read",
        "ConfigMap blog/settings",
        "added by shops at the merge",
        "An approval of this commit plans it again.",
        "stays in the cluster unmanaged: ConfigMap tenants/a",
        "2 more applications",
        "<p>tenant-c, tenant-d</p>",
      ]) {
        expect(text).toContain(shown);
      }
      expect(text.match(/helm: &lt;values&gt; not found/g)).toHaveLength(2);
    });

    test("shows nothing of what is rendered to those who may not see diffs, not even of previews", async () => {
      const [visitor] = await filled({ auth: false });
      const { text } = await visitor.ask(CHANGE);
      expect(text).toContain("added by shops at the merge");
      expect(text).toContain("1 changed resource is not shown, because authentication is off");
      expect(text).not.toMatch(/blog\/settings|tenants\/a|&lt;values&gt;/);
    });

    test.each([
      [{}, true],
      [{ auth: false }, false],
    ] as const)(
      "names a failed check; with %j, whoever may see diffs (%j) sees what it printed",
      async (options, seen) => {
        const [visitor, site] = await filled(options);
        const outcome = { kind: "failed", reason: "it exited with 1", output: "<b>replicas</b> is 0" } as const;
        const checks = [sampleCheck("kubeconform"), sampleCheck("conftest", outcome)];
        const web = sampleApplication("web", { ...evaluated([]), checks });
        await site.stores.plans.save(samplePlan([web], { change: PULL }));
        const { text } = await visitor.ask(CHANGE);
        expect(text).toMatch(/<strong>[^<]*conftest[^<]*it exited with 1[^<]*<\/strong>/);
        expect(text.includes("&lt;b&gt;replicas&lt;/b&gt; is 0")).toBe(seen);
        expect(text).not.toContain("<b>replicas");
      },
    );

    test("counts what a sync leaves, and what drifted, as the comment does", async () => {
      const [visitor, site] = await filled();
      const drift = [resource("ConfigMap shop/settings", "update", "@@ -1 +1 @@\n-a: by hand\n+a: in git\n")];
      const resources = [
        resource("PersistentVolumeClaim shop/data", "delete", "@@ -1 +0,0 @@\n-kind: PersistentVolumeClaim\n"),
        resource("batch/Job shop/migrate", "update", "@@ -1 +1 @@\n-a: 1\n+a: 2\n", true),
      ];
      const basis = { kind: "both", approximate: [], alreadyThere: [], kept: [], drift } as const;
      const web = sampleApplication("web", evaluated(resources, { deleted: 0, stay: 1, basis }));
      await site.stores.plans.save(samplePlan([web], { change: PULL }));
      const { text } = await visitor.ask(CHANGE);
      expect(text).toContain("0 to create · 0 to update · 1 left in the cluster · 1 drifted · 1 hook changed");
    });

    test("unfolds short diffs and leaves long ones folded", async () => {
      const site = await start();
      await fillStores(site.stores, site.clock, 2000);
      const { text } = await (await site.visitor("ana")).ask(CHANGE);
      const folded = [...text.matchAll(/<details class="resource( long)?"( open)?>/g)].map(([, long, open]) => [
        long,
        open,
      ]);
      expect(folded).toEqual([
        [undefined, " open"],
        [undefined, " open"],
        [" long", undefined],
        [undefined, " open"],
      ]);
      expect(text.match(/class="line added"/g)).toHaveLength(2002);
    });

    test("cannot inject anything into the page", async () => {
      const site = await start();
      const evil = '"><script>alert(1)</script><img src=x onerror=alert(1)>`<b>';
      const plan = samplePlan(
        [
          sampleApplication(evil, {
            ...evaluated([resource(evil, "update", `@@ ${evil}\n+${evil}: ${evil}\n`)], { cautions: [evil] }),
            warnings: [evil],
          }),
          sampleApplication("broken", { kind: "unevaluated", reason: evil, sourceFile: evil }),
        ],
        { change: PULL, notes: [evil], notDeployed: [{ application: applicationName(evil), reason: evil }] },
      );
      await site.stores.plans.save(plan);
      await site.stores.locks.acquire(
        { application: applicationName(evil), holder: PULL, user: evil, planRevision: HEAD, sourceFile: evil },
        site.clock.now(),
      );
      const visitor = await site.visitor("olga");
      for (const path of [
        CHANGE,
        "/",
        `/?q=${encodeURIComponent(evil)}`,
        `/activity?application=${encodeURIComponent(evil)}`,
      ]) {
        const { status, text } = await visitor.ask(path);
        expect(status).toBe(200);
        expect(text).not.toMatch(/<script>|<img|<b>/);
        expect([...text.matchAll(/\bon\w+=/g)].length).toBe([...text.matchAll(/ onerror=alert\(1\)&gt;/g)].length);
      }
    });

    test("of a change request is found by the specification's name of its host as well", async () => {
      const [visitor] = await filled();
      const [page, same] = [await visitor.ask(CHANGE), await visitor.ask(CHANGE.replace("github", "hosta"))];
      expect([page.status, same.status]).toEqual([200, 200]);
      expect(same.text).toContain(CHANGE);
    });

    test.each([
      ["/changes/github/acme/deploy/8", 404, "svc plan"],
      ["/changes/hostc/acme/deploy/7", 404, "/changes/&lt;github or gitlab&gt;/"],
      ["/changes/github/acme/deploy/x", 404, "/changes/&lt;github or gitlab&gt;/"],
      ["/changes/github/acme/de%2Fploy/7", 404, "/changes/&lt;github or gitlab&gt;/"],
      ["/changes/gitlab/acme/shop/deploy/3", 404, "No such page"],
    ])("%s answers %i and says what to do", async (path, status, words) => {
      const [visitor] = await filled();
      const answer = await visitor.ask(path);
      expect([answer.status, answer.text]).toEqual([status, expect.stringContaining(words)]);
    });

    test("shows the smallest diffs of a plan that is too long for a page, and says where the others are", async () => {
      const [visitor, site] = await filled({}, "olga");
      const large = ["@@ -1 +1,7000 @@", ...Array.from({ length: 7_000 }, (_, line) => `+  line: ${line}`)].join("\n");
      const odd = `+  data: ${"a\u200b".repeat(45_000)}`;
      const resources = [
        ...Array.from({ length: 60 }, (_, one) => resource(`ConfigMap shop/large-${one}`, "create", large)),
        ...Array.from({ length: 20 }, (_, one) => resource(`ConfigMap shop/odd-${one}`, "create", odd)),
        resource("apps/Deployment shop/small", "update", "+  replicas: 3\n"),
      ];
      await site.stores.plans.save(samplePlan([sampleApplication("web", evaluated(resources))], { change: PULL }));
      const { status, text } = await visitor.ask(CHANGE);
      expect([status, text.length < 5_000_000]).toEqual([200, true]);
      expect(text).toMatch(/shop\/small<.*\n.*replicas/);
      expect(text.match(/The API has it: \/api\/v1\/plans\/github\/acme\/deploy\/7/g)?.length).toBeGreaterThan(60);
      const api = await visitor.ask("/api/v1/plans/github/acme/deploy/7");
      expect([api.status, api.text.length > 5_000_000]).toEqual([200, true]);
    });
  });

  describe("the applications", () => {
    test("show who deployed which commit, and what is not merged", async () => {
      const [visitor] = await filled();
      const all = (await visitor.ask("/applications")).text;
      for (const shown of ["deployed, not merged", "ba5eba11", "docs", "rolled back"]) expect(all).toContain(shown);
      const open = (await visitor.ask("/applications?state=open")).text;
      expect(open).toContain("deployed, not merged");
      expect(open).not.toContain("docs");
    });

    test("lead to what was done with each, and to it and its history in Argo CD", async () => {
      const [visitor] = await filled();
      const { text } = await visitor.ask("/applications?q=docs");
      expect(text).toContain('<a href="/timeline?application=docs"');
      expect(text).toMatch(/href="https?:\/\/[^"]+\/applications\/docs" aria-label="docs in Argo CD"/);
      expect(text).toMatch(/href="https?:\/\/[^"]+\/applications\/docs\?rollback=0" aria-label="History of docs/);
    });

    test("say what to do while nothing was deployed", async () => {
      const site = await start();
      expect((await (await site.visitor("ana")).ask("/applications")).text).toContain("Nothing was deployed yet");
    });
  });

  describe("the activity", () => {
    test.each([
      [
        "?application=&login=&action=refused",
        ["sync refused</span>", "the plan was out of date"],
        ["synced</span>", "docs"],
      ],
      [
        "?login=ANA&application=docs",
        ['<span class="badge good">synced</span>', "<strong>docs</strong> succeeded"],
        ["the plan is stale"],
      ],
      ["?change=hostb/acme/shop/deploy/3", ["Nothing matches"], ["docs"]],
    ])("with %s shows %j and not %j", async (query, shown, absent) => {
      const [visitor] = await filled();
      const { text } = await visitor.ask(`/activity${query}`);
      for (const word of shown) expect(text).toContain(word);
      for (const word of absent) expect(text).not.toContain(word);
    });

    test("names a hundred of many applications, and the page of a pull request all of its own", async () => {
      const [visitor, site] = await filled();
      const names = Array.from({ length: 600 }, (_, one) => applicationName(`team-${one}`));
      const applications = names.map((application) => ({ application, outcome: "failed", detail: undefined }));
      const entry = failedSync(site.clock, "");
      await site.stores.audit.record({ ...entry, applications });
      const plan = samplePlan(
        names.map((name) => sampleApplication(name, evaluated([]))),
        { change: PULL },
      );
      await site.stores.plans.save(plan);
      const { text } = await visitor.ask("/activity");
      expect(text).toContain("and 500 more, which the API has");
      expect((await visitor.ask(CHANGE)).text).toContain("team-599");
    });

    test("is read a page at a time", async () => {
      const [visitor] = await filled();
      const first = (await visitor.ask("/activity?limit=2")).text;
      const older = /href="([^"]+)">Older/.exec(first)?.[1]?.replaceAll("&amp;", "&") ?? "";
      const second = (await visitor.ask(older)).text;
      expect([second.includes("planned</span>"), second.includes("Older<"), second.includes("Newest<")]).toEqual([
        true,
        false,
        true,
      ]);
    });

    test("refuses an invalid filter", async () => {
      const [visitor] = await filled();
      const answer = await visitor.ask("/activity?action=stolen");
      expect([answer.status, answer.text]).toEqual([400, expect.stringContaining("must be one of")]);
    });
  });

  test("the status shows what is available, with details only for people who are logged in", async () => {
    const host = new MemoryHost({ id: "hosta" } as ConstructorParameters<typeof MemoryHost>[0]);
    host.reach = () => Promise.reject(new HostFailure("unauthenticated", "GitHub does not accept the App's key"));
    const check = () => Promise.reject(new DeployerFailure("unreachable", "failed to connect to Argo CD"));
    const parts = { deployer: { check }, hosts: [host] };
    const [visitor] = await filled(parts);
    const { text } = await visitor.ask("/status");
    for (const shown of [
      "Store (embedded)",
      "failed to connect to Argo CD",
      "does not accept the App&#39;s key",
      "1 running, 2 waiting, the oldest from",
    ]) {
      expect(text).toContain(shown);
    }
    const [stranger] = await filled({ ...parts, auth: false });
    expect((await stranger.ask("/status")).text).not.toContain("App&#39;s key");
  });

  test.each([
    [{}, "Store (embedded)"],
    [{ address: "redis.example.com:6379" }, "Redis"],
    [{ sentinel: { master: "main", addresses: ["sentinel.example.com:26379"] } }, "Redis (Sentinel)"],
    [{ cluster: { addresses: ["node.example.com:6379"] } }, "Redis (Cluster)"],
  ])("the status with kvstore %j names the store %s", async (kvstore, name) => {
    const site = await start({ kvstore });
    const { text } = await (await site.visitor("ana")).ask("/status");
    expect(text).toContain(`<strong>${name}</strong>`);
    expect(text.includes("kept in memory and lost")).toBe(name === "Store (embedded)");
  });

  test("an unavailable store is reported, and nothing is invented", async () => {
    const unavailable = () => Promise.reject(new StoreUnavailable("failed to connect to Redis: connection refused"));
    const over = ({ locks }: Stores) => ({
      locks: Object.assign(Object.create(locks) as Stores["locks"], { list: unavailable }),
    });
    const site = await start({ over });
    const answer = await (await site.visitor("ana")).ask("/");
    expect([answer.status, answer.text]).toEqual([
      503,
      expect.stringContaining("failed to connect to Redis: connection refused."),
    ]);
  });

  test.each(["/", "/api/v1/locks", "/auth/me"])(
    "a stored value that cannot be read is reported at %s, and logged for whoever can mend it",
    async (path) => {
      const unreadable = () => Promise.reject(new StoredValueUnreadable("svc:lock:web cannot be read: delete the key"));
      const over = ({ locks, users }: Stores) =>
        path === "/auth/me"
          ? { users: wrapPort(users, { find: unreadable }) }
          : { locks: wrapPort(locks, { list: unreadable }) };
      const site = await start({ over });
      const answer = await (await site.visitor("ana")).ask(path);
      expect([answer.status, answer.text]).toEqual([
        500,
        expect.stringContaining("svc:lock:web cannot be read: delete the key"),
      ]);
      expect(answer.text).not.toContain("works again");
      if (path.startsWith("/api/")) expectDescribed(`get ${path}`, answer);
      expect(site.log.lines).toContainEqual(
        expect.objectContaining({ level: "warn", text: "could not answer a request from the store" }),
      );
    },
  );

  describe("every answer", () => {
    test.each(PAGES)("of %s has security headers and is not cached", async (path) => {
      const [visitor] = await filled({}, "olga");
      const { headers, text } = await visitor.ask(path);
      expect(headers.get("content-security-policy")).toBe(
        "default-src 'none';script-src 'self';style-src 'self';img-src 'self';connect-src 'self';form-action 'self';base-uri 'none';frame-ancestors 'none'",
      );
      expect(headers.get("cache-control")).toBe("no-store");
      expect(headers.get("x-powered-by")).toBeNull();
      expect(text).not.toMatch(/<script(?![^>]* src=")|<style|\sstyle=|\son\w+=/);
    });

    test.each([
      ["style.css", "text/css; charset=utf-8"],
      ["act.js", "text/javascript; charset=utf-8"],
      ["icon.svg", "image/svg+xml"],
    ])("of %s comes as what it is, to anybody", async (name, type) => {
      const site = await start();
      const { status, headers } = await site.stranger().ask(`/assets/${name}`);
      expect([status, headers.get("content-type")]).toEqual([200, type]);
    });
  });

  test("an unknown address is reported to people and programs; an internal error shows no details", async () => {
    const site = await start({ auth: false });
    const visitor = site.stranger();
    const missing = await visitor.ask("/nothing");
    expect([missing.status, missing.text]).toEqual([404, expect.stringContaining("No such page")]);
    const program = await visitor.ask("/nothing", { headers: { accept: "application/json" } });
    expect([program.status, JSON.parse(program.text)]).toEqual([404, { error: "there is nothing at this address" }]);
    const broken = await visitor.ask("/broken");
    expect([broken.status, broken.text]).toEqual([500, expect.stringContaining("<h1>Internal error</h1>")]);
    expect(broken.text).not.toContain("secret details");
    const told = await visitor.ask("/broken", { headers: { accept: "application/json" } });
    expect([told.status, JSON.parse(told.text)]).toEqual([500, { error: "internal error; the log has the details" }]);
    const malformed = await visitor.ask("/changes/github/acme/shop/%ff");
    expect([malformed.status, malformed.text]).toEqual([400, expect.stringContaining("<h1>Bad request</h1>")]);
  });

  test("an unavailable store is also reported before the login", async () => {
    const unavailable = () => Promise.reject(new StoreUnavailable("failed to connect to Redis: connection refused"));
    const over = ({ users }: Stores): Partial<Stores> => ({
      users: {
        signIn: (...given) => users.signIn(...given),
        find: unavailable,
        list: () => users.list(),
        setRole: (...given) => users.setRole(...given),
        standing: (...given) => users.standing(...given),
        renew: (...given) => users.renew(...given),
        end: (...given) => users.end(...given),
      },
    });
    const site = await start({ over });
    const answer = await (await site.visitor("ana")).ask("/");
    expect([answer.status, answer.text]).toEqual([503, expect.stringContaining("connection refused")]);
  });

  test("the status page works while the store is unavailable", async () => {
    const unavailable = () => Promise.reject(new StoreUnavailable("failed to connect to Redis: connection refused"));
    const site = await start({ auth: false, over: () => ({ ping: unavailable }), backlog: unavailable });
    const { status, text } = await site.stranger().ask("/status");
    expect([status, text]).toEqual([200, expect.stringContaining("Unknown while the store is unavailable.")]);
    expect(text).toContain("unavailable");
  });
});
