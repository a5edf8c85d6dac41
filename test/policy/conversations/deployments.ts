import { DeployerFailure } from "../../../src/core/model/errors.js";
import type { Recorder } from "../recorder.js";
import { config, definition, filesOf, specOf } from "../scene.js";

const BOTH = { ...config("web", "2"), ...config("api", "2") };

/** What earlier syncs and rollbacks left behind, and what moved since the plan. */
export async function playDeployments(recorder: Recorder): Promise<void> {
  await playSyncs(recorder);
  await playFailures(recorder);
  await playRollbacks(recorder);
  await playBehind(recorder);
  await playMoved(recorder);
  await playSkipped(recorder);
}

async function playSyncs(recorder: Recorder): Promise<void> {
  const scene = recorder.scene();
  const number = await scene.open(BOTH);
  await recorder.standing("two-planned", scene, number);
  await recorder.sync("two-planned-before-sync", scene, number);
  await scene.say(number, "svc sync -a web");
  await recorder.standing("one-of-two-synced", scene, number);
  await recorder.merge("one-of-two-synced-before-merge", scene, number);
  await scene.say(number, "svc sync");
  await recorder.standing("synced", scene, number);
  await recorder.standing("synced-and-merging", scene, number, { merging: true });
  await recorder.merge("synced-before-merge", scene, number, { only: ["web", "api"] });
  await recorder.rollback("synced-before-rollback", scene, number);
  scene.host.push(number, { ...config("web", "3"), ...config("api", "3") });
  await recorder.standing("pushed-after-sync", scene, number);
  await recorder.rollback("pushed-after-sync-before-rollback", scene, number);
  await scene.say(number, "svc plan -a web");
  await recorder.standing("one-of-two-planned-after-a-push", scene, number);
  await recorder.sync("one-of-two-planned-before-sync", scene, number);
  await recorder.sync("the-planned-one-of-two-before-sync", scene, number, { only: ["web"] });
  await scene.say(number, "svc plan");
  await recorder.standing("planned-again-after-sync", scene, number);
}

async function playFailures(recorder: Recorder): Promise<void> {
  const scene = recorder.scene();
  const number = await scene.open(BOTH);
  scene.deployer.faults.sync = ({ application }) =>
    application.name === "web" ? { kind: "failed", message: "it failed", resources: [] } : undefined;
  await scene.say(number, "svc sync");
  await recorder.standing("one-sync-failed", scene, number);
  await recorder.merge("one-sync-failed-before-merge", scene, number, { only: ["web", "api"] });
  await recorder.sync("one-sync-failed-before-another-sync", scene, number, { only: ["web"] });
  await recorder.rollback("one-sync-failed-before-rollback", scene, number);

  const unknown = recorder.scene();
  const lost = await unknown.open(BOTH);
  unknown.deployer.lost = true;
  unknown.deployer.faults.sync = ({ application }) => {
    if (application.name === "web") throw new DeployerFailure("unreachable", "Argo CD did not answer in time");
    return undefined;
  };
  await unknown.say(lost, "svc sync");
  await recorder.standing("end-of-a-sync-unknown", unknown, lost);
  await recorder.merge("end-of-a-sync-unknown-before-merge", unknown, lost, { only: ["web", "api"] });
  await recorder.rollback("end-of-a-sync-unknown-before-rollback", unknown, lost);

  const refusing = recorder.scene();
  const rejected = await refusing.open(config("web", "2"));
  refusing.deployer.faults.sync = () => {
    throw new DeployerFailure("refused", "a sync window does not allow it");
  };
  await refusing.say(rejected, "svc sync");
  await recorder.standing("sync-refused-by-argo-cd", refusing, rejected);
  const [web] = (await refusing.stores.locks.list()).map(({ application }) => application);
  if (web === undefined) throw new Error("its lock is gone");
  await recorder.standing("sync-not-started", refusing, rejected, { justFailed: [web] });

  const all = recorder.scene();
  const failed = await all.open(config("web", "2"));
  all.deployer.faults.sync = () => ({ kind: "failed", message: "it failed", resources: [] });
  await all.say(failed, "svc sync");
  await recorder.standing("sync-failed", all, failed);
  await all.push(failed, config("web", "3"));
  await recorder.standing("pushed-after-a-failed-sync", all, failed);
  await all.close(failed);
  await recorder.standing("closed-after-a-failed-sync", all, failed);
}

async function playRollbacks(recorder: Recorder): Promise<void> {
  const scene = recorder.scene();
  const number = await scene.open(BOTH);
  await scene.say(number, "svc sync");
  await scene.say(number, "svc rollback -a web");
  await recorder.standing("one-rolled-back", scene, number);
  await recorder.rollback("one-rolled-back-before-rollback", scene, number);
  await scene.say(number, "svc rollback");
  await recorder.standing("rolled-back", scene, number);
  await scene.say(number, "svc plan");
  await recorder.standing("planned-after-rollback", scene, number);
  await scene.say(number, "svc unlock");
  await recorder.standing("unlocked-after-rollback", scene, number);

  const approved = recorder.scene({ defaults: { require_approval: true } });
  const locked = await approved.open(BOTH);
  await approved.approve(locked, "bo");
  await approved.say(locked, "svc sync");
  approved.base(config("web", "9"));
  await approved.approve(locked);
  await recorder.rollback("deployed-with-approval-before-rollback", approved, locked);
  const broken = recorder.scene();
  const undone = await broken.open(config("web", "2"));
  await broken.say(undone, "svc sync");
  broken.deployer.faults.sync = () => ({ kind: "failed", message: "it failed", resources: [] });
  await broken.say(undone, "svc rollback");
  await recorder.standing("rollback-failed", broken, undone);
  const strict = recorder.scene();
  const unapproved = await strict.open(config("web", "2"));
  await strict.say(unapproved, "svc sync");
  strict.base({ ".svc.yaml": "require_approval: true\n", ...config("web", "7") });
  await recorder.standing("approval-required-since-the-sync", strict, unapproved);
  await recorder.rollback("approval-required-since-the-sync-before-rollback", strict, unapproved);
}

async function playBehind(recorder: Recorder): Promise<void> {
  const scene = recorder.scene();
  const number = await scene.open({ "apps/web/more.yaml": "kind: ConfigMap\n", ...config("api", "2") });
  scene.base(config("web", "9"));
  await scene.say(number, "svc plan");
  await recorder.standing("behind", scene, number);
  await recorder.sync("behind-before-sync", scene, number);
  await recorder.sync("without-the-one-behind-before-sync", scene, number, { only: ["api"] });

  const byHand = recorder.scene({ rules: "update_branch: never\n" });
  const old = await byHand.open({ "apps/web/more.yaml": "kind: ConfigMap\n" });
  byHand.base(config("web", "9"));
  await byHand.say(old, "svc plan");
  await recorder.standing("behind-where-svc-updates-nothing", byHand, old);

  const both = recorder.scene({ defaults: { require_approval: true } });
  const unapproved = await both.open({ "apps/web/more.yaml": "kind: ConfigMap\n" });
  both.base(config("web", "9"));
  await both.say(unapproved, "svc plan");
  await recorder.standing("behind-and-unapproved", both, unapproved);
  await recorder.sync("behind-and-unapproved-before-sync", both, unapproved);

  const shared = recorder.scene({ defaults: { require_approval: true, protected_branches: ["change-1"] } });
  const qa = await shared.open({ "apps/web/more.yaml": "kind: ConfigMap\n" });
  shared.base(config("web", "9"));
  await shared.say(qa, "svc plan");
  await recorder.standing("behind-and-unapproved-with-a-protected-head", shared, qa);

  const loose = recorder.scene({ defaults: { require_up_to_date: false } });
  const reverted = await loose.open({ "apps/web/more.yaml": "kind: ConfigMap\n" });
  loose.base(config("web", "9"));
  await loose.say(reverted, "svc plan");
  await recorder.standing("behind-where-that-is-allowed", loose, reverted);
  await loose.say(reverted, "svc sync");
  await recorder.standing("reverted", loose, reverted);
  await recorder.merge("reverted-before-merge", loose, reverted);
  const moved = recorder.scene();
  const late = await moved.open({ "apps/web/more.yaml": "kind: ConfigMap\n" });
  moved.base(config("web", "9"));
  await recorder.standing("base-moved-since-the-plan", moved, late);
  await recorder.sync("base-moved-since-the-plan-before-sync", moved, late);
}

async function playMoved(recorder: Recorder): Promise<void> {
  const scene = recorder.scene();
  const number = await scene.open(BOTH);
  const destination = { server: "https://kubernetes.default.svc", namespace: "elsewhere" };
  scene.deployer.add("web", { ...specOf("web"), destination });
  await recorder.sync("definition-changed-since-the-plan-before-sync", scene, number);
  scene.deployer.add("web", { ...specOf("web"), syncPolicy: { automated: {} } });
  await recorder.sync("auto-sync-before-sync", scene, number);
  await recorder.rollback("auto-sync-before-rollback", scene, number);
  await scene.say(number, "svc plan");
  await recorder.standing("auto-sync", scene, number);
  await recorder.sync("auto-sync-planned-before-sync", scene, number);
  scene.deployer.add("web", specOf("web"));
  await recorder.confirmed("auto-sync-turned-on-during-sync", scene, await replanned(scene, number), () => {
    scene.deployer.add("web", { ...specOf("web"), syncPolicy: { automated: {} } });
  });
  scene.deployer.add("web", specOf("web"), { owningSet: "shops" });
  await recorder.sync("generated-since-the-plan-before-sync", scene, number);
  scene.deployer.add("web", specOf("web"));
  scene.deployer.faults.find = (name) => {
    if (name === "web") throw new DeployerFailure("forbidden", "permission denied");
  };
  await recorder.sync("application-unreadable-before-sync", scene, number);
  await scene.say(number, "svc plan");
  await recorder.standing("application-unreadable", scene, number);
  const elsewhere = recorder.scene();
  const foreign = await elsewhere.open(config("web", "2"));
  elsewhere.deployer.add("web", {
    ...specOf("web"),
    source: { ...specOf("web").source, repoURL: "https://git.example.com/acme/other.git" },
  });
  await recorder.sync("moved-to-another-repository-before-sync", elsewhere, foreign);
  await elsewhere.say(foreign, "svc plan");
  await recorder.standing("moved-to-another-repository", elsewhere, foreign);

  const followed = recorder.scene();
  followed.repositories.commit("release", followed.repositories.filesAt(followed.repositories.tip("main")));
  const { source } = specOf("web");
  const sources = [source, { ...source, path: "apps/shared", targetRevision: "release" }];
  const spec = { ...specOf("web"), sources, source: undefined };
  followed.deployer.add("web", JSON.parse(JSON.stringify(spec)) as ReturnType<typeof specOf>);
  followed.base(definition("web", { sources, source: undefined }));
  const fixed = await followed.open(config("web", "2"));
  await recorder.standing("second-source-follows-another-branch", followed, fixed);
  const files = followed.repositories.filesAt(followed.repositories.tip("release"));
  followed.repositories.commit("release", { ...files, "apps/shared/more.yaml": "kind: ConfigMap\n" });
  await recorder.sync("second-source-moved-before-sync", followed, fixed);
}

async function replanned(scene: ReturnType<Recorder["scene"]>, number: number): Promise<number> {
  await scene.say(number, "svc plan");
  return number;
}

async function playSkipped(recorder: Recorder): Promise<void> {
  const scene = recorder.scene({ defaults: { skip_no_changes: true } });
  const number = await scene.open({ ...config("web", "2"), "apps/api/README": "read me" });
  await recorder.standing("one-unchanged-is-skipped", scene, number);
  const alone = await scene.open({ "apps/api/README": "read me" });
  await recorder.standing("unchanged-and-locked-by-another", scene, alone);
  const none = recorder.scene({ defaults: { skip_no_changes: true } });
  const unchanged = await none.open({ "apps/api/README": "read me" });
  await recorder.standing("all-unchanged-and-skipped", none, unchanged);
  const merging = recorder.scene({ defaults: { auto_merge: true } });
  const added = await merging.open({ ...config("web", "2"), ...filesOf("shop") });
  await recorder.sync("new-application-left-out-before-sync", merging, added);
}
