import { describe, expect, test } from "@jest/globals";
import { PLAN_LIFETIME_MS } from "../../src/core/model/plan/plan.js";
import type { HostId } from "../../src/names.js";
import { HOSTS, REPOSITORY, startBot, type Bot, type BotOptions } from "../scenarios/bot.js";
import { section } from "../scenarios/plan-comment.js";
import { applicationResource, asYaml, changeOf, configMap } from "../scenarios/resources.js";
import { generatedApplication, names, runsShops, shopsResource } from "../scenarios/sets.js";

const APPLIES = { spec: { destination: { server: "https://kubernetes.default.svc", namespace: "argocd" } } };

const AUTOMATED = { syncPolicy: { automated: {} } };

interface Family {
  readonly files?: Readonly<Record<string, string>>;
  readonly more?: Partial<BotOptions>;
}

/** `root` applies the definitions of `web` and `api`. */
function startFamily(host: HostId, { files = {}, more = {} }: Family = {}): Promise<Bot> {
  return startBot({
    host,
    files: () => files,
    prepare: async ({ argocd }, forge) => {
      argocd.addApplication(
        applicationResource("root", { repoURL: forge.cloneUrl(REPOSITORY), path: "argocd", ...APPLIES }),
      );
      await argocd.deploy("root");
      for (const name of ["web", "api"]) await argocd.deploy(name);
    },
    ...more,
  });
}

/** In which phase each application's last operation is whenever a sync is asked for, as `name: phases of the others`. */
function watchStarts(bot: Bot, names: readonly string[]): readonly string[] {
  const seen: string[] = [];
  for (const name of names) {
    bot.meanwhile("argocd", { method: "POST", path: new RegExp(`/applications/${name}/sync$`) }, () => {
      const others = names.filter((one) => one !== name);
      const phase = (one: string) => {
        const { operation, status } = bot.argocd.application(one) ?? { operation: undefined, status: undefined };
        return operation === undefined ? (status?.operationState?.phase ?? "never") : "Running";
      };
      seen.push(`${name}: ${others.map((one) => `${one} ${phase(one)}`).join(", ")}`);
    });
  }
  return seen;
}

const syncs = (bot: Bot) => bot.changes().filter((change) => change.startsWith("sync"));

describe.each(HOSTS)("applications that apply each other's definitions, on %s", (host) => {
  test("a child is deployed after its parent, from the definition that the parent wrote", async () => {
    const bot = await startFamily(host);
    const one = await bot.open({ ...bot.moved("web"), ...changeOf(["api"]) });
    const commit = bot.seen(one).headRevision;
    const seen = watchStarts(bot, ["web", "root"]);
    bot.expectChanges("sync root", "sync web", "sync api");
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one).match(/✅ succeeded/g)).toHaveLength(3);
    // Nobody but the parent has written the definition.
    expect([...bot.changes()].sort()).toEqual(["sync api", "sync root", "sync web"]);
    expect(bot.changes()[0]).toBe("sync root");
    expect(seen).toEqual(["root: web Succeeded", "web: root Succeeded"]);
    expect(bot.argocd.application("root")?.status.operationState?.syncResult?.revision).toBe(commit);
    expect(bot.argocd.application("web")?.status.operationState?.syncResult?.revision).toBe(commit);
    expect(bot.liveValue("web")).toBe("apps/moved");
  });

  test("a child whose lock another pull request took while its parent was synced is not deployed", async () => {
    const bot = await startFamily(host);
    const one = await bot.open(bot.moved("web"));
    const two = await bot.open(changeOf(["web"], "3"), { by: "bo" });
    // As by an administrator, or by `svc unlock` under the new name of a repository that was just renamed.
    bot.meanwhile("argocd", { method: "POST", path: /\/applications\/root\/sync$/ }, async () => {
      const [lock] = (await bot.stores.locks.list(bot.ref(one))).filter(({ application }) => application === "web");
      if (lock === undefined) throw new Error("web is not locked");
      await bot.stores.locks.release(lock.application, lock.holder);
      await bot.stores.locks.acquire({ ...lock, holder: bot.ref(two) }, bot.clock.now());
    });
    bot.expectChanges("sync root");
    await bot.comment(one, "svc sync");
    expect(syncs(bot)).toEqual(["sync root"]);
    expect(section(bot.lastComment(one), "web")).toContain("its lock is no longer this");
    expect(await bot.locked(two)).toEqual(["web"]);
  });

  test("a definition that the parent renders otherwise than planned is not deployed: the plan is stale", async () => {
    const kustomization = (path: string) =>
      asYaml({
        resources: ["web.yaml", "api.yaml"],
        patches: [
          {
            target: { kind: "Application", name: "web" },
            patch: `- {op: replace, path: /spec/source/path, value: ${path}}`,
          },
        ],
      });
    const bot = await startFamily(host, { files: { "argocd/kustomization.yaml": kustomization("apps/web") } });
    const one = await bot.open({
      "argocd/kustomization.yaml": kustomization("apps/next"),
      "apps/next/configmap.yaml": configMap("web", { value: "2" }),
      "apps/evil/configmap.yaml": configMap("web", { value: "stolen" }),
    });
    // Alone, too, it is planned with the definition that its parent gives it.
    await bot.comment(one, "svc plan -a web");
    expect(section(bot.lastComment(one), "web")).toContain('+  value: "2"');
    bot.meanwhile("argocd", { method: "POST", path: /\/applications\/root\/sync$/ }, () => {
      bot.meanwhile("argocd", { method: "GET", path: /\/applications\/web$/ }, () => {
        bot.argocd.addApplication(bot.resourceOf("web", { path: "apps/evil" }));
      });
    });
    bot.expectChanges("sync root");
    await bot.comment(one, "svc sync");
    const web = section(bot.lastComment(one), "web");
    expect(web).toContain("**Result:** ❌ not started");
    expect(web).toContain(
      "its plan is stale: the definition that its parent root wrote is not the planned one. Run the plan command again",
    );
    expect(bot.liveValue("web")).toBe("1");
    expect(bot.changes()).toEqual(["sync root"]);
  });

  test("the children of a parent that failed are not deployed, and the result says what to do", async () => {
    const bot = await startFamily(host);
    const one = await bot.open({ ...bot.moved("web"), ...changeOf(["api"]) });
    bot.argocd.failNextSync("root", { phase: "Failed", message: "no room" });
    bot.expectChanges("sync root", "sync web", "sync api");
    await bot.comment(one, "svc sync");
    for (const name of ["web", "api"]) {
      expect(section(bot.lastComment(one), name)).toContain(
        "its parent root, which applies its definition, was not deployed. See to root first, then run the sync command again",
      );
    }
    expect(bot.changes()).toEqual(["sync root"]);
    expect(await bot.locked(one)).toEqual(["api", "root", "web"]);
    expect(await bot.deployed(one)).toEqual(["root"]);
    await bot.comment(one, "svc sync");
    expect(bot.lastComment(one).match(/✅ succeeded/g)).toHaveLength(3);
  });

  test("while a parent runs longer than svc waits, its children are not deployed", async () => {
    const bot = await startFamily(host);
    const one = await bot.open(bot.moved("web"));
    const release = bot.argocd.holdSync("root");
    bot.expectChanges("sync root");
    await bot.comment(one, "svc sync");
    expect(section(bot.lastComment(one), "root")).toContain("⏳ still running");
    expect(section(bot.lastComment(one), "web")).toContain(
      "its parent root, which applies its definition, is not known to be deployed yet",
    );
    release();
    expect(bot.changes()).toEqual(["sync root"]);
    expect(bot.liveValue("web")).toBe("1");
  });

  test("a child that somebody leads elsewhere right after its parent's sync is not deployed", async () => {
    const bot = await startFamily(host);
    const one = await bot.open(bot.moved("web"));
    let ended = false;
    bot.meanwhile("argocd", { method: "POST", path: /\/applications\/root\/sync$/ }, () => {
      ended = true;
    });
    for (let nth = 1; nth <= 20; nth += 1) {
      bot.meanwhile("argocd", { method: "GET", path: /\/applications\/web$/ }, () => {
        if (ended) bot.argocd.addApplication(bot.resourceOf("web", { path: "apps/evil" }));
      });
    }
    bot.expectChanges("sync root");
    await bot.comment(one, "svc sync");
    expect(section(bot.lastComment(one), "web")).toContain("is not the planned one. Run the plan command again");
    expect(syncs(bot)).toEqual(["sync root"]);
  });

  test("level by level: what has no parent in common is deployed side by side", async () => {
    const bot = await startFamily(host, {
      files: { "apps/web/child.yaml": asYaml(applicationResource("leaf", { repoURL: "https://git.example.com/x" })) },
    });
    const leaf = bot.resourceOf("leaf", { path: "apps/leaf" });
    await bot.forge.pushToBranch(REPOSITORY, "main", {
      "apps/web/child.yaml": asYaml(leaf),
      "apps/leaf/configmap.yaml": configMap("leaf", { value: "1" }),
      "argocd/web.yaml": asYaml(bot.resourceOf("web", APPLIES)),
    });
    await bot.argocd.deploy("root");
    await bot.argocd.deploy("web");
    await bot.argocd.deploy("leaf");
    const one = await bot.open({
      ...changeOf(["api", "leaf"]),
      "apps/web/child.yaml": asYaml({ ...leaf, metadata: { name: "leaf", labels: { a: "b" } } }),
      "argocd/api.yaml": asYaml(bot.resourceOf("api", { spec: { revisionHistoryLimit: 3 } })),
    });
    const names = ["api", "leaf", "root", "web"];
    expect(await bot.locked(one)).toEqual(names);
    const seen = watchStarts(bot, names);
    bot.expectChanges(...names.map((name) => `sync ${name}`));
    const before = Object.fromEntries(
      names.map((name) => [name, bot.argocd.application(name)?.status.operationState?.startedAt]),
    );
    expect(Object.keys(before)).toEqual(names);
    await bot.comment(one, "svc sync");
    expect(syncs(bot)[0]).toBe("sync root");
    expect(syncs(bot).at(-1)).toBe("sync leaf");
    expect(seen.at(-1)).toBe("leaf: api Succeeded, root Succeeded, web Succeeded");
    expect(bot.lastComment(one).match(/✅ succeeded/g)).toHaveLength(4);
  });

  test("an application that applies its own definition is deployed; two that apply each other's are refused, one by one they are not", async () => {
    const tracked = (parent: string, name: string) => ({
      annotations: { "argocd.argoproj.io/tracking-id": `${parent}:argoproj.io/Application:argocd/${name}` },
    });
    const bot = await startBot({ host, applications: ["web", "api", "self"] });
    bot.argocd.addApplication(bot.resourceOf("web", tracked("api", "web")));
    bot.argocd.addApplication(bot.resourceOf("api", tracked("web", "api")));
    bot.argocd.addApplication(bot.resourceOf("self", tracked("self", "self")));
    const one = await bot.open(changeOf(["web", "api", "self"]));
    bot.expectChanges("sync self", "sync web");
    await bot.comment(one, "svc sync");
    expect(section(bot.lastComment(one), "self")).toContain("✅ succeeded");
    expect(section(bot.lastComment(one), "web")).toContain(
      "it and api wait for each other, because each is to apply the other's definition: deploy them one by one with -a",
    );
    expect(bot.changes()).toEqual(["sync self"]);
    await bot.comment(one, "svc sync -a web");
    expect(bot.lastComment(one)).toContain("✅ succeeded");
  });

  test("a dry run tries parent and child, and leaves both as they are", async () => {
    const bot = await startFamily(host);
    const one = await bot.open({ ...bot.moved("web"), ...changeOf(["api"]) });
    bot.expectChanges("dry-run root", "dry-run api");
    await bot.comment(one, "svc sync --dry-run");
    expect(section(bot.lastComment(one), "root")).toContain("✅ the dry run succeeded");
    expect(section(bot.lastComment(one), "api")).toContain("✅ the dry run succeeded");
    expect(section(bot.lastComment(one), "web")).toContain("cannot be tried without changing its definition");
    expect(bot.argocd.application("web")?.spec.source?.path).toBe("apps/web");
    expect(await bot.deployed(one)).toEqual([]);
  });

  test("a rollback takes parents first, and the children as these have written them", async () => {
    const bot = await startFamily(host);
    const one = await bot.open({ ...bot.moved("web"), ...changeOf(["api"]) });
    bot.expectChanges("sync root", "sync web", "sync api");
    await bot.comment(one, "svc sync");
    const seen = watchStarts(bot, ["web", "root"]);
    const before = bot.changes().length;
    await bot.comment(one, "svc rollback");
    expect(bot.changes().slice(before)[0]).toBe("sync root");
    expect(seen).toEqual(["root: web Succeeded", "web: root Succeeded"]);
    expect(bot.lastComment(one)).not.toContain("⚠️");
    expect(bot.argocd.application("web")?.spec.source?.path).toBe("apps/web");
    expect(bot.liveValue("web")).toBe("1");
    expect(await bot.deployed(one)).toEqual([]);
  });

  test.each([
    ["leaves out the parent", changeOf(["api"]), "svc plan -a api", {}],
    ["cannot render the parent", { "argocd/web.yaml": "a: [" }, "svc plan", {}],
    ["cannot render the parent, whose auto-sync it turns on", { "argocd/web.yaml": "a: [" }, "svc plan", AUTOMATED],
  ])(
    "a rollback asks for the rules of the children also where the plan of a later commit %s",
    async (_, more, plan, spec) => {
      const rules = { ".svc.yaml": "sync_requirements: [{name: web, allowed_users: [bo]}]\n" };
      const bot = await startFamily(host, { files: rules });
      const own = { repoURL: bot.forge.cloneUrl(REPOSITORY), path: "argocd", spec: { ...APPLIES.spec, ...spec } };
      const one = await bot.open(bot.moved("web"), { draft: true });
      bot.expectChanges("sync root", "sync web");
      await bot.comment(one, "svc plan", "bo");
      await bot.comment(one, "svc sync", "bo");
      await bot.push(one, { ...more, "roots/root.yaml": asYaml(applicationResource("root", own)) });
      await bot.comment(one, plan);
      await bot.comment(one, "svc rollback -a root");
      expect(bot.lastComment(one)).toContain("`ana` may not run `svc rollback` for:\n- `web`: only bo may");
      expect(syncs(bot)).toEqual(["sync root", "sync web"]);
    },
  );

  test.each([
    ["leaf", "web"],
    ["shop-leaf", "web"],
    ["leaf", "shop-mid"],
  ])(
    "a rollback whose plan leaves out the parent asks for the rules of what its children define and Argo CD deploys by itself: %s of %s",
    async (leaf, parent) => {
      const files = (repoURL: string) => ({
        ".svc.yaml": `sync_requirements: [{name: ${leaf}, allowed_users: [bo]}]\n`,
        "argocd/web.yaml": asYaml(applicationResource("web", { repoURL, spec: AUTOMATED })),
      });
      const bot = await startFamily(host, { more: { files } });
      const by = (of: string, kind: string, name: string) => ({
        "argocd.argoproj.io/tracking-id": `${of}:argoproj.io/${kind}:argocd/${name}`,
      });
      const spec = { destination: { server: "https://kubernetes.default.svc", namespace: "leaves" } };
      const given = { repoURL: bot.forge.cloneUrl(REPOSITORY), path: "apps/api", spec };
      if (leaf === "leaf") {
        bot.argocd.addApplication(
          applicationResource(leaf, { ...given, annotations: by(parent, "Application", leaf) }),
        );
      } else {
        const metadata = { name: "shops", annotations: by("web", "ApplicationSet", "shops") };
        const set = shopsResource(given.repoURL, names("leaf"), { ...given, spec });
        runsShops(bot, { ...set, metadata }, [generatedApplication("leaf", given)]);
      }
      if (parent === "shop-mid") {
        const metadata = { name: "shops", annotations: by("root", "ApplicationSet", "shops") };
        const set = shopsResource(given.repoURL, names("mid"), given) as { readonly spec: object };
        const strategy = { type: "RollingSync", rollingSync: { steps: [] } };
        const rolling = { ...set, metadata, spec: { ...set.spec, strategy } };
        runsShops(bot, rolling, [generatedApplication("mid", given)]);
      }
      const one = await bot.open(bot.moved("api"), { draft: true });
      bot.expectChanges("sync root", "sync api");
      await bot.comment(one, "svc plan");
      await bot.comment(one, "svc sync");
      await bot.push(one, changeOf(["web"]));
      await bot.comment(one, "svc plan -a web");
      await bot.comment(one, "svc rollback -a root");
      expect(bot.lastComment(one)).toContain(`\`ana\` may not run \`svc rollback\` for:\n- \`${leaf}\`: only bo may`);
      expect(syncs(bot)).toEqual(["sync root", "sync api"]);
    },
  );

  test.each([
    ["becomes a hook", { "argocd.argoproj.io/hook": "PreSync" }],
    ["gets Force=true", { "argocd.argoproj.io/sync-options": "Replace=true,Force=true" }],
  ])(
    "a sync asks for the rules of what goes with a child that it deletes and creates anew, since that %s",
    async (_, annotations) => {
      const rules = { ".svc.yaml": "sync_requirements: [{name: leaf, allowed_users: [bo]}]\n" };
      const bot = await startFamily(host, { files: rules });
      const repoURL = bot.forge.cloneUrl(REPOSITORY);
      const metadata = { name: "web", finalizers: ["resources-finalizer.argocd.argoproj.io"] };
      const web = bot.argocd.application("web");
      bot.argocd.removeApplication("web");
      bot.argocd.addApplication({ ...web, metadata: { ...web?.metadata, ...metadata } });
      const ofWeb = { "argocd.argoproj.io/tracking-id": "web:argoproj.io/Application:argocd/leaf" };
      const destination = { server: "https://kubernetes.default.svc", namespace: "leaves" };
      bot.argocd.addApplication(
        applicationResource("leaf", { repoURL, path: "apps/api", spec: { destination }, annotations: ofWeb }),
      );
      const one = await bot.open({ "argocd/web.yaml": asYaml(applicationResource("web", { repoURL, annotations })) });
      await bot.comment(one, "svc sync");
      expect(bot.lastComment(one)).toContain("`ana` may not run `svc sync` for:\n- `leaf`: only bo may");
      expect(syncs(bot)).toEqual([]);
    },
  );

  test("a rollback asks for the rules of the children, and of the target branch, also once the plan is forgotten", async () => {
    const rules = { ".svc.yaml": "sync_requirements: [{name: web, allowed_users: [bo]}]\n" };
    const bot = await startFamily(host, { files: rules });
    const one = await bot.open(bot.moved("web"), { draft: true });
    bot.expectChanges("sync root", "sync web");
    await bot.comment(one, "svc plan", "bo");
    await bot.comment(one, "svc sync", "bo");
    bot.clock.advance(PLAN_LIFETIME_MS);
    await bot.comment(one, "svc rollback -a root");
    const refusal = "`ana` may not run `svc rollback` for:\n- `web`: only bo may";
    expect(bot.answers(one)).toContainEqual(expect.stringContaining(refusal));
    await bot.forge.pushToBranch(REPOSITORY, "mine", { ".svc.yaml": "" });
    await bot.loseWebhooks(() => bot.forge.retarget(REPOSITORY, one, "mine"));
    await bot.comment(one, "svc rollback -a root");
    expect(bot.lastComment(one)).toContain("There is no plan of it for the present target branch");
    expect(syncs(bot)).toEqual(["sync root", "sync web"]);
    await bot.forge.retarget(REPOSITORY, one, "main");
    await bot.comment(one, "svc rollback", "bo");
    expect(bot.lastComment(one)).toContain("**2 applications rolled back**");
  });
});
