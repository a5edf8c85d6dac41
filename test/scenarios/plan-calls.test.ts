import { setImmediate } from "node:timers/promises";
import { describe, expect, test } from "@jest/globals";
import { HOSTS, REPOSITORY, startBot, type Bot } from "./bot.js";
import { planned, section, UNCHANGED_TEXT } from "./plan-comment.js";
import { applicationResource, asYaml, changeOf } from "./resources.js";
import { cloneUrlOf } from "./sets.js";

const TRACKING = "argocd.argoproj.io/tracking-id";

/** What was asked of Argo CD. Listing and settings are also asked for at the start, and answered from memory for a while. */
interface Calls {
  readonly lists: number;
  readonly setLists: number;
  readonly settings: number;
  readonly gets: number;
  /** What was rendered, in the order of asking; `temporary` is a copy with another definition. */
  readonly renders: readonly ("head" | "base" | "temporary")[];
  readonly writes: readonly string[];
}

/** The calls to Argo CD that `act` leads to, on a change request whose number it tells. */
async function callsOf(bot: Bot, act: () => Promise<number>): Promise<Calls> {
  const from = bot.argocd.requests.length;
  const { headRevision } = bot.seen(await act());
  // The sweep at the start asks for temporary Applications with a selector.
  const seen = bot.argocd.requests.slice(from).filter(({ query }) => query.selector === undefined);
  const gets = (pattern: RegExp) => seen.filter(({ method, path }) => method === "GET" && pattern.test(path));
  return {
    lists: gets(/\/applications$/).length,
    setLists: gets(/\/applicationsets$/).length,
    settings: gets(/\/settings$/).length,
    gets: gets(/\/applications\/[^/]+$/).length,
    renders: gets(/\/manifests$/).map(({ query }) => {
      if (query.revision === undefined) return "temporary";
      return query.revision[0] === headRevision ? "head" : "base";
    }),
    writes: seen.filter(({ method }) => method !== "GET").map(({ method }) => method),
  };
}

/** The default of `deployer.render_concurrency`. */
const RENDERS_AT_ONCE = 8;

const times = <T>(count: number, one: T): T[] => Array.from({ length: count }, () => one);
const namesOf = (count: number) => Array.from({ length: count }, (_, index) => `app-${index + 1}`);
const NOTHING = { lists: 0, setLists: 0, settings: 0, gets: 0, renders: [], writes: [] };

describe.each(HOSTS)("what a plan asks of Argo CD on %s", (host) => {
  test("applications are read four at a time", async () => {
    const applications = namesOf(20);
    const bot = await startBot({ host, applications });
    let [running, most] = [0, 0];
    const act = async () => {
      running += 1;
      most = Math.max(most, running);
      for (let turn = 0; turn < 20; turn += 1) await setImmediate();
      running -= 1;
    };
    bot.argocd.faults.add({ method: "GET", path: /\/applications\/[^/]+$/, fault: { kind: "meanwhile", act } });
    await bot.open(changeOf(applications));
    expect(most).toBe(4);
  });

  test.each([1, 20])(
    "%i applications: one list of them and one of sets, one settings call, one GET and two renders each, all heads before the first base",
    async (count) => {
      const applications = namesOf(count);
      const bot = await startBot({ host, applications });
      const calls = await callsOf(bot, () => bot.open(changeOf(applications)));
      expect(calls.lists).toBeLessThanOrEqual(1);
      expect(calls.setLists).toBe(1);
      expect(calls.settings).toBeLessThanOrEqual(1);
      expect(calls.gets).toBe(count);
      expect([...calls.renders].sort()).toEqual([...times(count, "base"), ...times(count, "head")]);
      // Calls that are made at once may arrive in another order.
      expect(calls.renders.slice(0, Math.max(0, count - RENDERS_AT_ONCE))).not.toContain("base");
      expect(calls.writes).toEqual([]);
      expect(bot.argocd.requests.filter(({ path }) => path.endsWith("/settings"))).toHaveLength(1);
    },
  );

  test.each([1, 20])(
    "%i changed definitions: a temporary Application costs a create, a look before its delete, and the delete besides",
    async (count) => {
      const applications = namesOf(count);
      const bot = await startBot({ host, applications });
      const moves = Object.assign({}, ...applications.map((name) => bot.moved(name, `apps/next-${name}`))) as object;
      const calls = await callsOf(bot, () => bot.open({ ...moves }));
      expect(calls.gets).toBe(2 * count);
      expect(calls.renders.toSorted()).toEqual([...times(count, "base"), ...times(count, "temporary")]);
      expect(calls.writes.toSorted()).toEqual([...times(count, "DELETE"), ...times(count, "POST")]);
    },
  );

  test("a child that only its parent changes costs a look and two renders of its own, and one that stays costs nothing", async () => {
    const child = (repoURL: string, name: string, size: string) =>
      applicationResource(name, {
        repoURL,
        annotations: { "argocd.argoproj.io/tracking-id": `root:argoproj.io/Application:argocd/${name}` },
        spec: { source: { repoURL, path: "apps/web", targetRevision: "main", kustomize: { nameSuffix: size } } },
      });
    const templates = (url: string) => [child(url, "one", "-{{ .Values.size }}"), child(url, "two", "-s")];
    const bot = await startBot({
      host,
      files: (url) => ({
        "apps/web/kustomization.yaml": "resources: [configmap.yaml]\n",
        "root/Chart.yaml": "apiVersion: v2\nname: root\nversion: 1.0.0\n",
        "root/values.yaml": "size: s\n",
        "root/templates/all.yaml": templates(url).map(asYaml).join("---\n"),
      }),
      prepare: ({ argocd }, forge) => {
        const url = cloneUrlOf(forge);
        const destination = { server: "https://kubernetes.default.svc", namespace: "argocd" };
        argocd.addApplication(applicationResource("root", { repoURL: url, path: "root", spec: { destination } }));
        for (const name of ["one", "two"]) argocd.addApplication(child(url, name, "-s"));
      },
    });
    const calls = await callsOf(bot, () => bot.open({ "root/values.yaml": "size: m\n" }));
    expect(planned(bot.lastComment(1))).toEqual(["one", "root"]);
    expect(calls.renders).toEqual(["head", "base", "base", "temporary"]);
    // The parent, the child, and the temporary one before its delete.
    expect(calls.gets).toBe(3);
    expect(calls.writes.toSorted()).toEqual(["DELETE", "POST"]);
  });

  test("a new application costs one render, and a deleted one a refresh and a look at its objects", async () => {
    const bot = await startBot({ host });
    const calls = await callsOf(bot, () => bot.open({ ...bot.moved("shop"), "argocd/api.yaml": null }));
    expect(calls.renders).toEqual(["temporary"]);
    expect(calls.writes.toSorted()).toEqual(["DELETE", "POST"]);
    // Each application, the temporary one before its delete, and the deleted one once more to refresh it.
    expect(calls.gets).toBe(4);
    expect(bot.argocd.requests.filter(({ path }) => path.endsWith("/managed-resources"))).toHaveLength(1);
  });

  test("the next push renders the heads only, and shows the same base", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(changeOf(["api", "web"]));
    const calls = await callsOf(bot, async () => {
      await bot.push(one, changeOf(["web"], "3"));
      return one;
    });
    expect(calls).toEqual({ ...NOTHING, gets: 2, renders: ["head", "head"] });
    expect(section(bot.lastComment(one), "web")).toMatch(/-  value: "1"\n\+  value: "3"/);
    expect(section(bot.lastComment(one), "api")).toMatch(/-  value: "1"\n\+  value: "2"/);
  });

  test("a push that comes when both lists are too old asks for each once, while git still fetches", async () => {
    const bot = await startBot({ host, git: true });
    const one = await bot.open(changeOf(["api", "web"]));
    bot.clock.advance(11_000);
    const listed = ["applications", "applicationsets"].map((list) =>
      bot.asked("argocd", { method: "GET", path: new RegExp(`/api/v1/${list}$`) }),
    );
    bot.meanwhile("forge", { path: /\.git\/info\/refs$/ }, async () => void (await Promise.all(listed)));
    const calls = await callsOf(bot, async () => {
      await bot.push(one, changeOf(["web"], "3"));
      return one;
    });
    expect(calls).toEqual({ ...NOTHING, lists: 1, setLists: 1, gets: 2, renders: ["head", "head"] });
  });

  test("a push renders what its last plan rendered while git still fetches, and nothing twice", async () => {
    const bot = await startBot({ host, git: true });
    const one = await bot.open(changeOf(["api", "web"]));
    const rendered = bot.asked("argocd", { path: /\/manifests$/, nth: 2 });
    bot.meanwhile("forge", { path: /\.git\/info\/refs$/ }, () => rendered);
    const calls = await callsOf(bot, async () => {
      await bot.push(one, changeOf(["web"], "3"));
      return one;
    });
    expect(calls).toEqual({ ...NOTHING, gets: 2, renders: ["head", "head"] });
    expect(section(bot.lastComment(one), "web")).toMatch(/-  value: "1"\n\+  value: "3"/);
  });

  test("a sync lists the applications when it begins and right before it deploys, and asks for no ApplicationSets", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(changeOf(["web"]));
    bot.clock.advance(10_000);
    bot.meanwhile("argocd", { method: "GET", path: /\/applications\/web$/ }, () => bot.clock.advance(1000));
    bot.expectChanges("sync web");
    const calls = await callsOf(bot, async () => {
      await bot.comment(one, "svc sync");
      return one;
    });
    expect(bot.lastComment(one)).toContain("✅ succeeded");
    expect(calls).toMatchObject({ lists: 2, setLists: 0 });
  });

  test("a plan that a person asks for renders both sides, and the one after it has a base again", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(changeOf(["web"]));
    const asked = await callsOf(bot, async () => {
      await bot.comment(one, "svc plan");
      return one;
    });
    expect(asked.renders).toEqual(["head", "base"]);
    const pushed = await callsOf(bot, async () => {
      await bot.push(one, changeOf(["web"], "3"));
      return one;
    });
    expect(pushed.renders).toEqual(["head"]);
  });

  test("a base branch that changed what the application reads is rendered anew, one that changed something else is not", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(changeOf(["web"]));
    await bot.forge.pushToBranch(REPOSITORY, "main", { "README.md": "hello" });
    const other = await callsOf(bot, async () => {
      await bot.push(one, changeOf(["web"], "3"));
      return one;
    });
    expect(other.renders).toEqual(["head"]);
    await bot.forge.pushToBranch(REPOSITORY, "main", changeOf(["web"], "7"));
    const calls = await callsOf(bot, async () => {
      await bot.push(one, changeOf(["web"], "8"));
      return one;
    });
    expect(calls.renders).toEqual(["head", "base"]);
    expect(section(bot.lastComment(one), "web")).toMatch(/-  value: "7"\n\+  value: "8"/);
  });

  test("after a merge the base is what was rendered as a head before", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(changeOf(["web"]));
    await bot.forge.mergeByHand(REPOSITORY, one, "bo");
    await bot.idle();
    const calls = await callsOf(bot, () => bot.open(changeOf(["web"], "3")));
    expect(calls.renders).toEqual(["head"]);
    expect(section(bot.lastComment(2), "web")).toMatch(/-  value: "2"\n\+  value: "3"/);
  });

  test("a kept render is an hour old at most", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(changeOf(["web"]));
    bot.clock.advance(60 * 60_000);
    const calls = await callsOf(bot, async () => {
      await bot.push(one, changeOf(["web"], "3"));
      return one;
    });
    expect(calls.renders).toEqual(["head", "base"]);
  });

  test("a failed render is asked for again", async () => {
    const bot = await startBot({ host });
    bot.argocd.faults.add({ path: /\/manifests$/, times: 2, fault: { kind: "status", status: 400, body: "{}" } });
    const one = await bot.open(changeOf(["web"]));
    expect(section(bot.lastComment(one), "web")).toContain("could not be evaluated");
    const calls = await callsOf(bot, async () => {
      await bot.push(one, changeOf(["web"], "3"));
      return one;
    });
    expect(calls.renders).toEqual(["head", "base"]);
  });

  test("where a PR is deployed and not merged both sides are rendered", async () => {
    const bot = await startBot({ host });
    const one = await bot.open(changeOf(["web"]));
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync");
    const calls = await callsOf(bot, () => bot.open(changeOf(["web"], "3"), { by: "bo" }));
    expect(calls.renders).toEqual(["head", "base"]);
  });
});

describe.each(HOSTS)("what rules of the repository that defines applications cost on %s", (host) => {
  /** Requests to the code host and to Argo CD, for a plan of 20 applications below a parent, and for a sync of one. */
  async function costs(definedIn: "nothing" | "here" | "elsewhere") {
    const applications = namesOf(20);
    const tracking = (name: string) => ({ [TRACKING]: `root:argoproj.io/Application:argocd/${name}` });
    const annotated = definedIn === "nothing" ? [] : applications;
    const bot = await startBot({
      host,
      applications,
      resources: () => Object.fromEntries(annotated.map((name) => [name, { annotations: tracking(name) }])),
      prepare: async ({ argocd }, forge) => {
        await forge.createRepository("acme/platform", { ".svc.yaml": "require_approval: false\n" });
        const repoURL = forge.cloneUrl(definedIn === "elsewhere" ? "acme/platform" : REPOSITORY);
        argocd.addApplication(applicationResource("root", { repoURL, path: "argocd" }));
      },
    });
    const counted = async (act: () => Promise<unknown>) => {
      const [host, argocd] = [bot.forge.requests.length, bot.argocd.requests.length];
      await act();
      return { host: bot.forge.requests.length - host, argocd: bot.argocd.requests.length - argocd };
    };
    const plan = await counted(() => bot.open(changeOf(applications)));
    bot.expectChanges("sync app-1");
    const sync = await counted(() => bot.comment(1, "svc sync -a app-1"));
    expect(bot.changes()).toEqual(["sync app-1"]);
    return { plan, sync };
  }

  test("nothing where it is the repository that deploys them, and otherwise one call for each reading of the rules", async () => {
    const [nothing, here, elsewhere] = [await costs("nothing"), await costs("here"), await costs("elsewhere")];
    expect(here).toEqual(nothing);
    // GitHub is asked once for the installation.
    const first = host === "hosta" ? 2 : 1;
    expect(elsewhere.plan).toEqual({ host: here.plan.host + first, argocd: here.plan.argocd });
    expect(elsewhere.sync.argocd).toBe(here.sync.argocd);
    expect(elsewhere.sync.host - here.sync.host).toBe(2);
  });
});

describe.each(HOSTS)("an application that reads the same at both commits, on %s", (host) => {
  /** The branch and its base make the same change of `web`; only `api` differs. */
  async function cherryPicked(bot: Bot): Promise<Calls> {
    const one = await bot.open({ ...changeOf(["api", "web"]) });
    await bot.forge.pushToBranch(REPOSITORY, "main", changeOf(["web"]));
    return callsOf(bot, async () => {
      await bot.comment(one, "svc plan");
      return one;
    });
  }

  test("is not rendered and shown as unchanged, the others as ever", async () => {
    const bot = await startBot({ host });
    const calls = await cherryPicked(bot);
    expect(calls.renders).toEqual(["head", "base"]);
    expect(planned(bot.lastComment(1))).toEqual(["api", "web"]);
    expect(section(bot.lastComment(1), "web")).toContain(UNCHANGED_TEXT);
    expect(section(bot.lastComment(1), "api")).toContain('+  value: "2"');
  });

  test("is proven unchanged although it renders a Secret: skip_no_changes drops it", async () => {
    const secret = {
      "apps/web/secret.yaml": "apiVersion: v1\nkind: Secret\nmetadata:\n  name: s\nstringData:\n  a: b\n",
    };
    const bot = await startBot({ host, files: () => secret, config: { defaults: { skip_no_changes: true } } });
    await cherryPicked(bot);
    expect(section(bot.lastComment(1), "web")).toContain(UNCHANGED_TEXT);
    bot.expectChanges("sync api");
    await bot.comment(1, "svc sync");
    expect(await bot.locked(1)).toEqual([]);
  });

  test("is rendered, and synced all the same, when this PR deployed an earlier commit of it", async () => {
    const bot = await startBot({ host, config: { defaults: { skip_no_changes: true } } });
    const one = await bot.open(changeOf(["web"], "2"));
    bot.expectChanges("sync web");
    await bot.comment(one, "svc sync");
    expect(bot.liveValue("web")).toBe("2");
    const calls = await callsOf(bot, async () => {
      await bot.push(one, changeOf(["web"], "1"));
      return one;
    });
    expect(calls.renders).toEqual(["head", "base"]);
    await bot.comment(one, "svc sync");
    expect(bot.liveValue("web")).toBe("1");
  });

  test("is rendered when the repository file maps a file to it that differs", async () => {
    const mapping = 'applications:\n  - name: web\n    paths: ["tools/**"]\n';
    const bot = await startBot({ host, files: () => ({ ".svc.yaml": mapping, "tools/version": "1" }) });
    const calls = await callsOf(bot, () => bot.open({ "tools/version": "2" }));
    expect(calls.renders).toEqual(["head", "base"]);
  });
});
