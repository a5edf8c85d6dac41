import { applicationName } from "../../../src/core/model/brand.js";
import type { Check, CheckOutcome } from "../../../src/core/model/check.js";
import { applicationResource, asYaml } from "../../scenarios/resources.js";
import type { Recorder } from "../recorder.js";
import { BO, config, definition, filesOf, specOf, URL } from "../scene.js";

const BOTH = { ...config("web", "2"), ...config("api", "2") };
const CHECK: Check = {
  name: "policy",
  command: ["/bin/policy"],
  applications: "*",
  required: true,
  timeout: 60_000,
  env: [],
  overridableBy: [],
};
const FAILED: CheckOutcome = { kind: "failed", reason: "exit code 1", output: "no resource limits\n" };
const PVC = asYaml({
  apiVersion: "v1",
  kind: "PersistentVolumeClaim",
  metadata: { name: "data", namespace: "guestbook" },
  spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
});

/** What a plan renders and checks, and what keeps it from that. */
export async function playRenders(recorder: Recorder): Promise<void> {
  await playUnevaluated(recorder);
  await playMissed(recorder);
  await playChecks(recorder);
  await playWithheld(recorder);
  await playUnseen(recorder);
  await playGeneratePaths(recorder);
  await playSets(recorder);
  await playGiven(recorder);
  await playDangers(recorder);
}

async function playUnevaluated(recorder: Recorder): Promise<void> {
  const scene = recorder.scene();
  scene.deployer.faults.render = ({ application }) => {
    if (application.name === "web") throw new Error("cannot be rendered");
  };
  const number = await scene.open(BOTH);
  await recorder.standing("one-unevaluated", scene, number);
  await recorder.sync("one-unevaluated-before-sync", scene, number);
  await recorder.sync("without-the-unevaluated-one-before-sync", scene, number, { only: ["api"] });
  await scene.say(number, "svc sync -a api");
  await recorder.standing("all-but-the-unevaluated-one-synced", scene, number);
  await recorder.merge("unevaluated-before-merge", scene, number, { only: ["api"] });
  const alone = recorder.scene({ defaults: { require_approval: true } });
  alone.deployer.faults.render = scene.deployer.faults.render;
  const only = await alone.open(config("web", "2"));
  await recorder.standing("unevaluated-and-unapproved", alone, only);
}

async function playChecks(recorder: Recorder): Promise<void> {
  const scene = recorder.scene({ checks: [CHECK] });
  scene.endOf = ({ application }) => (application === "web" ? FAILED : { kind: "passed" });
  const number = await scene.open(BOTH);
  await recorder.standing("check-failed", scene, number);
  await recorder.sync("check-failed-before-sync", scene, number);
  await scene.say(number, "svc sync -a api");
  await recorder.standing("check-failed-beside-a-synced-one", scene, number);
  scene.endOf = () => ({ kind: "broken", reason: "it took longer than 1m", output: "" });
  await scene.say(number, "svc plan");
  await recorder.standing("check-broken", scene, number);
  await recorder.sync("check-broken-before-sync", scene, number);

  const lifted = recorder.scene({ checks: [{ ...CHECK, overridableBy: ["acme/platform"] }] });
  lifted.host.setTeam("acme/platform", "bo");
  lifted.endOf = () => FAILED;
  const overridable = await lifted.open(config("web", "2"));
  await recorder.standing("check-failed-that-a-team-may-lift", lifted, overridable);
  await recorder.sync("check-failed-that-a-team-may-lift-before-sync", lifted, overridable);
  await lifted.approve(overridable, "bo");
  await recorder.standing("check-lifted", lifted, overridable);
  await recorder.sync("check-lifted-before-sync", lifted, overridable);

  const syncPolicy = { automated: {} };
  const family = recorder.scene({ checks: [{ ...CHECK, applications: "shop" }] });
  family.deployer.add("root", { ...specOf("root"), source: { ...specOf("root").source, path: "children" } });
  family.endOf = () => FAILED;
  const shop = applicationResource("shop", {
    repoURL: URL,
    namespace: "argocd",
    spec: { ...specOf("shop"), syncPolicy },
  });
  const child = await family.open({ ...config("shop", "1"), "children/shop.yaml": asYaml(shop) });
  await recorder.standing("check-of-a-child-failed", family, child);
  await family.approve(child, "bo");
  await recorder.sync("check-of-a-child-failed-before-sync", family, child);

  const merged = recorder.scene({ checks: [CHECK] });
  merged.endOf = ({ application }) => (application === "shop" ? FAILED : { kind: "passed" });
  const added = await merged.open(filesOf("shop"));
  await recorder.standing("check-of-a-new-application-failed", merged, added);
  await recorder.merge("check-of-a-new-application-failed-before-merge", merged, added, { only: [] });
  const beside = await merged.open({ ...filesOf("shop"), ...config("web", "2") });
  await recorder.standing("check-of-a-new-application-failed-beside-another", merged, beside);
  const { dependencies } = merged;
  merged.dependencies = { ...dependencies, checks: [{ ...CHECK, command: ["/bin/policy", "--strict"] }] };
  await recorder.standing("checks-changed-since-the-plan", merged, added);
  merged.dependencies = { ...dependencies, checks: [{ ...CHECK, overridableBy: ["acme/platform"] }] };
  await recorder.standing("check-of-a-new-application-that-a-team-may-lift", merged, added);
  merged.host.setTeam("acme/platform", "bo");
  await merged.approve(added, "bo");
  await recorder.standing("check-of-a-new-application-lifted", merged, added);
}

/** The parent `root` gives its child `web` another definition, and no file of `web` changes. */
async function playGiven(recorder: Recorder): Promise<void> {
  const child = (variant: string) => {
    const info = [{ name: "variant", value: variant }];
    const resource = applicationResource("web", {
      repoURL: URL,
      namespace: "argocd",
      spec: { ...specOf("web"), info },
    });
    return { "children/web.yaml": asYaml(resource) };
  };
  const start = (checks: readonly Check[]) => {
    const scene = recorder.scene({ rules: "cr_paths: [argocd]\n", files: child("red"), checks });
    scene.deployer.add("root", { ...specOf("root"), source: { ...specOf("root").source, path: "children" } });
    scene.deployer.add("web", specOf("web"), { parent: applicationName("root") });
    return scene;
  };
  const scene = start([]);
  const number = await scene.open(child("blue"));
  await recorder.standing("gives-a-child-a-definition", scene, number);
  await recorder.sync("gives-a-child-a-definition-before-sync", scene, number);
  await recorder.sync("the-given-child-alone-before-sync", scene, number, { only: ["web"] });
  await scene.say(number, "svc unlock -a web");
  await recorder.standing("given-child-unlocked", scene, number);
  await recorder.sync("given-child-unlocked-before-sync", scene, number, { only: ["root"] });
  const other = await scene.open(config("web", "2"));
  await recorder.standing("given-child-held-by-another", scene, number);
  await recorder.sync("given-child-held-by-another-before-sync", scene, number, { only: ["root"] });
  await scene.close(other);
  await scene.say(number, "svc plan");
  await scene.say(number, "svc sync -a root");
  await recorder.standing("given-child-left-out", scene, number);

  const failing = start([{ ...CHECK, applications: "root" }]);
  failing.endOf = () => FAILED;
  const barred = await failing.open(child("blue"));
  await recorder.standing("given-child-of-a-parent-with-a-failed-check", failing, barred);
}

async function playWithheld(recorder: Recorder): Promise<void> {
  const scene = recorder.scene();
  const source = { ...specOf("web").source, repoURL: "https://charts.example.com/acme/charts.git" };
  const number = await scene.open({
    ...definition("web", { sources: [specOf("web").source, source] }),
    ...config("api", "2"),
  });
  await recorder.standing("withheld", scene, number);
  await recorder.sync("withheld-before-sync", scene, number);
  await recorder.sync("without-the-withheld-one-before-sync", scene, number, { only: ["api"] });
  await scene.say(number, "svc sync -a api");
  await recorder.standing("withheld-beside-a-synced-one", scene, number);
  scene.host.approve(number, "bo");
  await recorder.standing("withheld-and-approved", scene, number);
  scene.host.say(1, { draft: true });
  scene.host.approve(number);
  await recorder.standing("withheld-in-a-draft", scene, number);
  const project = await scene.open(definition("api", { project: "payments" }));
  await recorder.standing("withheld-for-another-project", scene, project);
  const moved = await scene.open(
    definition("web", { destination: { server: "https://kubernetes.default.svc", namespace: "prod" } }),
  );
  await recorder.standing("destination-moves", scene, moved);
  const fresh = await scene.open({ ...config("shop", "1"), ...definition("shop", { project: "secret" }) });
  await recorder.standing("new-application-withheld", scene, fresh);
}

async function playUnseen(recorder: Recorder): Promise<void> {
  const scene = recorder.scene({ defaults: { require_approval: true } });
  scene.repositories.commit("release", scene.repositories.filesAt(scene.repositories.tip("main")));
  const { source } = specOf("web");
  const sources = [source, { ...source, path: "apps/shared", targetRevision: "release" }];
  const { project, destination } = specOf("web");
  const spec = { project, destination, sources };
  scene.deployer.add("web", spec);
  scene.base(definition("web", { sources, source: undefined }));
  const number = await scene.open(config("web", "2"));
  await scene.approve(number, "bo");
  await recorder.standing("approved-with-a-second-source", scene, number);
  const files = scene.repositories.filesAt(scene.repositories.tip("release"));
  scene.repositories.commit("release", { ...files, "apps/shared/more.yaml": "kind: ConfigMap\n" });
  await recorder.sync("second-source-moved-after-the-approval-before-sync", scene, number);
  await scene.say(number, "svc plan");
  await recorder.standing("planned-after-the-approval", scene, number);
  await recorder.sync("planned-after-the-approval-before-sync", scene, number);
}

async function playGeneratePaths(recorder: Recorder): Promise<void> {
  const scene = recorder.scene();
  const annotations = { "argocd.argoproj.io/manifest-generate-paths": "/elsewhere" };
  scene.deployer.add("web", specOf("web"), { annotations });
  const number = await scene.open(BOTH);
  await recorder.standing("uncovered", scene, number);
  await recorder.sync("uncovered-before-sync", scene, number);
  await scene.say(number, "svc sync -a api");
  await recorder.standing("uncovered-beside-a-synced-one", scene, number);
}

/** @param generator of an ApplicationSet that makes applications `shop-<name>`. */
function setOf(generator: object) {
  return {
    apiVersion: "argoproj.io/v1alpha1",
    kind: "ApplicationSet",
    metadata: { name: "shops" },
    spec: {
      goTemplate: true,
      generators: [generator],
      template: {
        metadata: { name: "shop-{{ .name }}" },
        spec: { ...specOf("shop"), source: { repoURL: URL, path: "apps/shop-{{ .name }}", targetRevision: "main" } },
      },
    },
  };
}

const shops = (...names: readonly string[]) => setOf({ list: { elements: names.map((name) => ({ name })) } });

async function playSets(recorder: Recorder): Promise<void> {
  const file = "argocd/shops.yaml";
  const base = { [file]: asYaml(shops("one")), "apps/shop-one/configmap.yaml": "kind: ConfigMap\n" };
  const scene = recorder.scene({ files: base });
  scene.deployer.sets.push({ name: "shops", namespace: undefined, resource: shops("one") as never });
  scene.deployer.add("shop-one", specOf("shop-one"), { owningSet: "shops" });
  const added = await scene.open({ [file]: asYaml(shops("one", "two")), ...config("shop-two", "1") });
  await recorder.standing("set-adds-an-application", scene, added);
  await recorder.merge("set-adds-an-application-before-merge", scene, added, { only: [] });
  const removed = await scene.open({ [file]: asYaml(shops()) });
  await recorder.standing("set-removes-an-application", scene, removed);
  const both = await scene.open({ [file]: asYaml(shops("one", "two")), ...config("web", "2") });
  await recorder.standing("set-and-application", scene, both);
  await scene.say(both, "svc sync");
  await recorder.standing("set-and-synced-application", scene, both);
  const clusters = await scene.open({ [file]: asYaml(setOf({ clusters: {} })) });
  await recorder.standing("set-withheld", scene, clusters);
  await recorder.merge("set-withheld-before-merge", scene, clusters, { only: [] });
  scene.host.approve(clusters, "bo");
  await recorder.standing("set-withheld-and-approved", scene, clusters);
  const mixed = await scene.open({ [file]: asYaml(setOf({ clusters: {} })), ...config("api", "2") });
  await recorder.standing("set-withheld-beside-an-application", scene, mixed);
  await scene.say(mixed, "svc sync");
  await recorder.standing("set-withheld-beside-a-synced-application", scene, mixed);

  const rules = "sync_requirements:\n  - name: shop-*\n    allowed_users: [olga]\n    require_approval: true\n";
  const listed = recorder.scene({ files: base, rules });
  listed.deployer.sets.push({ name: "shops", namespace: undefined, resource: shops("one") as never });
  listed.deployer.add("shop-one", specOf("shop-one"), { owningSet: "shops" });
  const unapproved = await listed.open({ [file]: asYaml(shops("one", "two")), ...config("shop-two", "1") });
  await recorder.standing("set-unapproved", listed, unapproved);
  await recorder.merge("set-before-merge-by-somebody-else", listed, unapproved, { only: [], by: BO });
}

async function playDangers(recorder: Recorder): Promise<void> {
  const files = { "apps/web/claim.yaml": PVC };
  const gone = { "apps/web/claim.yaml": null };
  const scene = recorder.scene({ files });
  const kept = await scene.open({ ...gone, ...config("web", "2") });
  await recorder.standing("deletes-a-claim", scene, kept);
  const pruning = recorder.scene({ files, defaults: { prune: true } });
  await recorder.standing("deletes-a-claim-and-prunes", pruning, await pruning.open(gone));
  const unapproved = recorder.scene({ files, defaults: { prune: true, require_approval: true } });
  await recorder.standing("deletes-a-claim-unapproved", unapproved, await unapproved.open(gone));
  const harmless = recorder.scene({
    files: { "apps/web/more.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: more}\n" },
  });
  await recorder.standing("deletes-an-object", harmless, await harmless.open({ "apps/web/more.yaml": null }));
  const recreated = recorder.scene({ files });
  const smaller = PVC.replace("1Gi", "2Gi").replace("ReadWriteOnce", "ReadWriteMany");
  await recorder.standing("changes-a-claim", recreated, await recreated.open({ "apps/web/claim.yaml": smaller }));

  const refusing = recorder.scene();
  refusing.dependencies = { ...refusing.dependencies, serverDryRun: "auto" };
  refusing.deployer.trial = (title) =>
    title === "ConfigMap web"
      ? { kind: "refused", cause: "immutable", message: "field is immutable", created: false, lastApplied: undefined }
      : { kind: "accepted" };
  const refused = await refusing.open(BOTH);
  await recorder.standing("refused-by-kubernetes", refusing, refused);
  await recorder.sync("refused-by-kubernetes-before-sync", refusing, refused);
  await refusing.say(refused, "svc sync -a api");
  await recorder.standing("refused-by-kubernetes-beside-a-synced-one", refusing, refused);
  const waiting = recorder.scene({ defaults: { require_approval: true } });
  waiting.dependencies = { ...waiting.dependencies, serverDryRun: "auto" };
  waiting.deployer.trial = refusing.deployer.trial;
  await recorder.standing("refused-by-kubernetes-and-unapproved", waiting, await waiting.open(config("web", "2")));
}

/** What takes effect at the merge and cannot be evaluated. */
async function playMissed(recorder: Recorder): Promise<void> {
  const scene = recorder.scene({ defaults: { require_approval: false } });
  scene.deployer.faults.render = ({ application }) => {
    if (application.name === "shop") throw new Error("cannot be rendered");
  };
  const number = await scene.open({ ...filesOf("shop"), ...config("web", "2") });
  await recorder.standing("new-application-unevaluated", scene, number);
  await scene.say(number, "svc sync -a web");
  await recorder.standing("new-application-unevaluated-beside-a-synced-one", scene, number);
  await recorder.merge("new-application-unevaluated-before-merge", scene, number, { only: [] });
  await scene.approve(number, "bo");
  await recorder.standing("new-application-unevaluated-and-approved", scene, number);
}
