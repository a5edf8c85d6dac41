import { describe, expect, test } from "@jest/globals";
import type { FileChanges } from "../../sandbox/forge.js";
import { HOSTS, startBot, type Bot, type BotOptions } from "../scenarios/bot.js";
import { applicationResource, asYaml, changeOf, configMap } from "../scenarios/resources.js";
import { cloneUrlOf, generatedApplication, names, shops, type SetOptions } from "../scenarios/sets.js";

const AWAY = { destination: { server: "https://kubernetes.default.svc", namespace: "elsewhere" } };
const AUTO = { syncPolicy: { automated: {} } };

/** `dev` is free for all, and `prod`, in a namespace of its own, needs an approval. */
function start(host: Bot["host"], more: Partial<BotOptions> = {}): Promise<Bot> {
  return startBot({
    host,
    applications: ["dev", "prod"],
    resources: () => ({ dev: { spec: AWAY } }),
    config: { defaults: { auto_merge: true } },
    prepare: ({ argocd }) => argocd.deploy("prod"),
    ...more,
    files: (url) => ({
      ".svc.yaml": "sync_requirements: [{ name: prod, require_approval: true }]\n",
      ...more.files?.(url),
    }),
  });
}

/** Nothing but the approval that `prod` requires keeps svc from merging. */
async function expectHeld(bot: Bot, changes: FileChanges, name: string, before?: string): Promise<void> {
  const one = await bot.open({ ...changeOf(["dev"]), ...changes });
  if (before !== undefined) await bot.comment(one, before);
  bot.expectChanges("sync dev");
  await bot.comment(one, "svc sync");
  expect(bot.seen(one).state).toBe("open");
  expect(bot.lastComment(one)).toMatch(new RegExp(`- \`${name}\`: .. must be approved before it is merged`));
}

/** A chart of one definition, which only a render shows. */
function chart(path: string, resource: object): FileChanges {
  return {
    [`${path}/Chart.yaml`]: `apiVersion: v2\nname: ${path}\nversion: 1.0.0\n`,
    [`${path}/values.yaml`]: "kind: Application\n",
    [`${path}/templates/one.yaml`]: asYaml(resource).replace('"Application"', "{{ .Values.kind }}"),
  };
}

const definition = (path: string, bot: Bot): FileChanges =>
  chart(path, bot.resourceOf("prod", { path: "apps/dev", namespace: "argocd" }));
const taken = configMap("prod", { value: "evil" }).replace("name: prod", "name: prod\n  namespace: guestbook");

describe.each(HOSTS)("the rules of an application hold at the merge on %s", (host) => {
  test.each<[string, string, (bot: Bot) => FileChanges]>([
    ["brings objects of it", "shop-boss", () => ({ "boss/prod.yaml": taken })],
    ["brings its definition", "prod", (bot) => definition("boss", bot)],
    [
      "starts another new one that does, two levels down",
      "prod",
      (bot) => ({
        ...chart("boss", bot.resourceOf("mid", { path: "mid", namespace: "argocd", spec: { ...AWAY, ...AUTO } })),
        ...definition("mid", bot),
      }),
    ],
  ])("for one that an ApplicationSet adds and that %s", async (_what, name, files) => {
    const bot = await start(host);
    const set = shops(cloneUrlOf(bot.forge), names("boss"), { path: "{{ .name }}", spec: AWAY });
    await expectHeld(bot, { ...files(bot), "sets/shops.yaml": set }, name);
  });

  test("for one that an ApplicationSet adds, also after a plan with -a of another one", async () => {
    const bot = await start(host);
    const set = shops(cloneUrlOf(bot.forge), names("boss"), { path: "{{ .name }}", spec: AWAY });
    const files = { "boss/prod.yaml": taken, "sets/shops.yaml": set };
    await expectHeld(bot, files, "shop-boss", "svc plan -a dev");
  });

  test("for a new one that starts another new one with its definition", async () => {
    const bot = await start(host);
    const mid = bot.resourceOf("mid", { path: "mid", namespace: "argocd", spec: { ...AWAY, ...AUTO } });
    const boss = bot.resourceOf("boss", { path: "boss", spec: AWAY });
    const files = { ...chart("boss", mid), ...definition("mid", bot), "argocd/boss.yaml": asYaml(boss) };
    await expectHeld(bot, files, "boss");
  });

  /** `root`, by a definition or an element of a set, and its child `prod`. */
  function startParent(ofSet: boolean, finalizers: readonly string[]): Promise<Bot> {
    const path = "children";
    return start(host, {
      applications: ["dev"],
      files: (url) => ({
        "argocd/root.yaml": asYaml(applicationResource("root", { repoURL: url, path, spec: AWAY })),
        "sets/shops.yaml": shops(url, names("root"), { path, spec: AWAY }),
        [`${path}/root.yaml`]: configMap("root", {}),
      }),
      prepare: ({ argocd }, forge) => {
        const at = { repoURL: cloneUrlOf(forge), path, spec: AWAY };
        argocd.addApplication({ ...applicationResource("root", at), metadata: { name: "root", finalizers } });
        const { metadata, ...generated } = generatedApplication("root", at) as { readonly metadata: object };
        argocd.addApplication({ ...generated, metadata: { ...metadata, finalizers } });
        const parent = ofSet ? "shop-root" : "root";
        const annotations = { "argocd.argoproj.io/tracking-id": `${parent}:argoproj.io/Application:argocd/prod` };
        argocd.addApplication(applicationResource("prod", { repoURL: at.repoURL, annotations }));
      },
    });
  }

  const goes = (bot: Bot, ofSet: boolean, more: SetOptions = {}): FileChanges => {
    const set = shops(cloneUrlOf(bot.forge), names(), { path: "children", spec: AWAY, ...more });
    return ofSet ? { "sets/shops.yaml": set } : { "argocd/root.yaml": null };
  };

  test.each(["its definition", "its element of an ApplicationSet"])("for a parent that goes with %s", async (what) => {
    const ofSet = what !== "its definition";
    const bot = await startParent(ofSet, ["resources-finalizer.argocd.argoproj.io"]);
    await expectHeld(bot, goes(bot, ofSet), ofSet ? "prod" : "root");
  });

  test("for a parent that its ApplicationSet keeps by a policy, which one of the controller may overrule", async () => {
    const bot = await startParent(true, ["resources-finalizer.argocd.argoproj.io"]);
    await expectHeld(bot, goes(bot, true, { syncPolicy: { applicationsSync: "create-update" } }), "prod");
  });

  test("but not for a parent that leaves its children behind, since it has no finalizer", async () => {
    const bot = await startParent(true, []);
    const one = await bot.open({ ...changeOf(["dev"]), ...goes(bot, true) });
    expect(bot.lastComment(one)).toContain("**`shop-root`** (removed)");
    bot.expectChanges("sync dev", "merge");
    await bot.comment(one, "svc sync");
    expect(bot.seen(one).state).toBe("merged");
  });
});
