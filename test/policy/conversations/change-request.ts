import { REPOSITORY_FILE } from "../../../src/names.js";
import type { Recorder } from "../recorder.js";
import { ANA, BO, config, definition, filesOf } from "../scene.js";

/** What concerns a change request as a whole: its state, its branches, its files, and who gives a command. */
export async function playChangeRequests(recorder: Recorder): Promise<void> {
  await playClosed(recorder);
  await playForks(recorder);
  await playBrokenRules(recorder);
  await playBranches(recorder);
  await playFiles(recorder);
  await playRulesApproval(recorder);
}

async function playClosed(recorder: Recorder): Promise<void> {
  const scene = recorder.scene();
  const dropped = await scene.open(config("web", "2"));
  await recorder.standing("planned", scene, dropped);
  await scene.close(dropped);
  await recorder.standing("closed", scene, dropped);
  const merged = await scene.open(config("web", "2"));
  await scene.say(merged, "svc sync");
  await scene.close(merged, "merged");
  await recorder.standing("merged", scene, merged);
  const left = await scene.open(config("api", "2"));
  await scene.say(left, "svc sync");
  await scene.close(left);
  await recorder.standing("closed-and-still-deployed", scene, left);
  await recorder.rollback("closed-before-rollback", scene, left);
  const other = await scene.open(config("api", "3"));
  await recorder.standing("planned-where-a-closed-one-is-deployed", scene, other);
  await scene.say(other, "svc sync");
  await recorder.standing("closed-after-another-deployed", scene, left);
}

async function playForks(recorder: Recorder): Promise<void> {
  const scene = recorder.scene();
  scene.host.say(1, { fork: true });
  const fork = await scene.open(config("web", "2"));
  await recorder.standing("fork", scene, fork);
  await recorder.asked("fork-before-plan", "plan", scene, fork);
  const open = recorder.scene({ defaults: { allow_forks: true } });
  open.host.say(1, { fork: true });
  const allowed = await open.open(config("web", "2"));
  await recorder.standing("allowed-fork-unplanned", open, allowed);
  await open.say(allowed, "svc plan");
  await recorder.standing("allowed-fork-planned", open, allowed);
  open.host.outsiders.add(BO.login);
  await recorder.asked("no-write-access-before-plan", "plan", open, allowed, BO);
  await recorder.asked("no-write-access-before-unlock", "unlock", open, allowed, BO);
  await recorder.rollback("no-write-access-before-rollback", open, allowed, { by: BO });
  await recorder.confirmed("write-access-lost-during-sync", open, allowed, () => {
    open.host.outsiders.add(ANA.login);
  });
}

async function playBrokenRules(recorder: Recorder): Promise<void> {
  const scene = recorder.scene();
  const number = await scene.open({ ...config("web", "2"), [REPOSITORY_FILE]: "sync_requirements: [" });
  await recorder.standing("rules-broken", scene, number);
  await recorder.asked("rules-broken-before-plan", "plan", scene, number);
  const later = await scene.open(config("api", "2"));
  await scene.say(later, "svc sync");
  await scene.push(later, { ...config("api", "3"), [REPOSITORY_FILE]: "version: 9\n" });
  await recorder.standing("rules-broken-after-sync", scene, later);
  await recorder.rollback("rules-broken-before-rollback", scene, later);
}

async function playBranches(recorder: Recorder): Promise<void> {
  const scene = recorder.scene();
  const number = await scene.open(config("web", "2"));
  await recorder.confirmed("head-moved-during-sync", scene, number, () => {
    scene.host.push(number, config("web", "3"));
  });
  await recorder.standing("head-not-planned", scene, number);
  await recorder.sync("head-not-planned-before-sync", scene, number);
  await scene.say(number, "svc plan");
  scene.host.say(number, { mergeability: "unknown" });
  await recorder.standing("mergeability-unknown", scene, number);
  await recorder.sync("mergeability-unknown-before-sync", scene, number);
  scene.host.say(number, { mergeability: "conflicts" });
  await recorder.standing("conflicts", scene, number);
  await recorder.sync("conflicts-before-sync", scene, number);
  scene.host.say(number, { mergeability: "mergeable", baseBranch: "main-2" });
  scene.repositories.commit("main-2", scene.repositories.filesAt(scene.repositories.tip("main")));
  await recorder.standing("retargeted", scene, number);
  await recorder.sync("retargeted-before-sync", scene, number);
  await recorder.rollback("retargeted-before-rollback", scene, number);

  const draft = recorder.scene();
  draft.host.say(1, { draft: true });
  const drafted = await draft.open(config("web", "2"));
  await recorder.standing("draft-unplanned", draft, drafted);
  await draft.say(drafted, "svc plan");
  await recorder.standing("draft-planned", draft, drafted);
  await draft.say(drafted, "svc sync");
  await recorder.standing("draft-synced", draft, drafted);

  const done = recorder.scene();
  const synced = await done.open(config("web", "2"));
  await done.say(synced, "svc sync");
  done.host.say(synced, { mergeability: "conflicts" });
  await recorder.standing("conflicts-after-sync", done, synced);
  await recorder.merge("conflicts-before-merge", done, synced);
}

async function playFiles(recorder: Recorder): Promise<void> {
  const scene = recorder.scene();
  const broken = "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: web\n";
  const number = await scene.open({ ...config("web", "2"), "argocd/more.yaml": broken });
  await recorder.standing("unread-file", scene, number);
  await recorder.sync("unread-file-before-sync", scene, number);
  const none = await scene.open({ "README.md": "read me" });
  await recorder.standing("nothing-affected", scene, none);
  const added = await scene.open(filesOf("shop"));
  await recorder.standing("new-application", scene, added);
  await recorder.merge("new-application-before-merge", scene, added, { only: [] });
  const removed = await scene.open({ "apps/api/configmap.yaml": null, "argocd/api.yaml": null });
  await recorder.standing("deleted-application", scene, removed);
  const both = await scene.open({ ...config("web", "3"), ...filesOf("cart") });
  await recorder.standing("new-application-beside-a-locked-one", scene, both);
  await scene.say(number, "svc unlock");
  await scene.say(both, "svc plan");
  await recorder.standing("new-application-beside-a-changed-one", scene, both);
  await recorder.sync("new-application-beside-a-changed-one-before-sync", scene, both);
  await scene.say(both, "svc sync");
  await recorder.standing("new-application-beside-a-synced-one", scene, both);
  const wrong = await scene.open(definition("web", { source: { path: 3 } }));
  await recorder.standing("definition-unreadable", scene, wrong);
}

async function playRulesApproval(recorder: Recorder): Promise<void> {
  const rules = "sync_requirements:\n  - name: api\n    allowed_users: [olga]\n";
  const scene = recorder.scene({ rules });
  const number = await scene.open({ [REPOSITORY_FILE]: "version: 1\n" });
  await recorder.standing("rules-change-unapproved", scene, number);
  await recorder.merge("rules-change-before-merge", scene, number, { only: [] });
  await scene.approve(number, "bo");
  await recorder.standing("rules-change-approved-by-somebody-else", scene, number);
  await scene.approve(number, "bo", "olga");
  await recorder.standing("rules-change-approved", scene, number);
  const both = await scene.open({ [REPOSITORY_FILE]: "version: 1\n", ...config("web", "2") });
  await recorder.standing("rules-change-and-application", scene, both);
  await scene.say(both, "svc sync");
  await recorder.standing("rules-change-and-application-synced", scene, both);
}
