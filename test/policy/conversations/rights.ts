import type { Recorder } from "../recorder.js";
import { BO, config, definition, filesOf, type Scene } from "../scene.js";

const BOTH = { ...config("web", "2"), ...config("api", "2") };
const LISTS =
  "sync_requirements:\n  - name: api\n    allowed_users: [olga]\n    commands: [plan, sync, rollback, unlock]\n";
const TEAMS = "sync_requirements:\n  - name: api\n    allowed_teams: [acme/platform]\n";
const NOBODY = "sync_requirements:\n  - name: api\n    allowed_users: []\n    allowed_teams: []\n";
const APPROVED_API = "sync_requirements:\n  - name: api\n    require_approval: true\n";

/** Approvals, access lists, and locks that others hold. */
export async function playRights(recorder: Recorder): Promise<void> {
  await playApprovals(recorder);
  await playLists(recorder);
  await playLocks(recorder);
  await playProjects(recorder);
  await playHolds(recorder);
  await playSyncOnApproval(recorder);
  await playStages(recorder);
}

/** Applications that an approval deploys. */
async function playSyncOnApproval(recorder: Recorder): Promise<void> {
  const scene = recorder.scene({ rules: "sync_on: approval\n" });
  const number = await scene.open(BOTH);
  await recorder.standing("awaiting-an-approval-that-deploys", scene, number);
  const other = await scene.open(config("web", "3"));
  await scene.approve(other, "bo");
  await recorder.standing("approved-and-locked-by-another-with-sync-on-approval", scene, other);
  const strict = recorder.scene({ rules: "sync_on: approval\nrequire_approval: true\n" });
  const required = await strict.open(BOTH);
  await recorder.standing("requiring-an-approval-that-deploys", strict, required);
}

/** A stage that has to wait for another one. */
async function playStages(recorder: Recorder): Promise<void> {
  const rules = "stages: [{name: dev, applications: api}, {name: prod, applications: web, soak: 10m}]\n";
  const scene = recorder.scene({ rules });
  const number = await scene.open(BOTH);
  await recorder.standing("two-stages", scene, number);
  await recorder.sync("two-stages-before-sync", scene, number);
  await recorder.sync("two-stages-before-sync-of-the-later", scene, number, { only: ["web"] });
  await recorder.sync("two-stages-before-dry-run", scene, number, { dryRun: true });
  await scene.say(number, "svc sync");
  await recorder.standing("first-stage-deployed", scene, number);
  await recorder.sync("first-stage-deployed-before-sync", scene, number);
  await recorder.merge("first-stage-deployed-before-merge", scene, number, { only: ["api"] });
  scene.clock.advance(11 * 60_000);
  await recorder.standing("first-stage-soaked", scene, number);
}

/** Applications that nobody may deploy for a time. */
async function playHolds(recorder: Recorder): Promise<void> {
  const scene = recorder.scene();
  const number = await scene.open(BOTH);
  const by = { provider: "basic", id: "basic:olga", login: "olga" } as const;
  const times = { since: "2026-03-02T10:00:00.000Z", until: "2026-03-31T18:00:00.000Z" };
  await scene.stores.holds.save(
    { id: "one", applications: ["w*"], reason: "migration", by, ...times },
    new Date(times.since),
  );
  await recorder.standing("one-application-held", scene, number);
  await recorder.sync("one-application-held-before-sync", scene, number);
  await scene.say(number, "svc sync -a api");
  await recorder.standing("one-synced-and-one-held", scene, number);
  await recorder.merge("one-synced-and-one-held-before-merge", scene, number, { only: ["api"] });
}

/** New and moved applications in a project that is for another repository. */
async function playProjects(recorder: Recorder): Promise<void> {
  const scene = recorder.scene({ projects: { payments: { repositories: ["github:acme/payments"] } } });
  const added = await scene.open({ ...config("shop", "1"), ...definition("shop", { project: "payments" }) });
  await recorder.standing("new-application-in-a-project-of-others", scene, added);
  await scene.approve(added, "bo");
  await recorder.standing("new-application-in-a-project-of-others-approved", scene, added);
  await recorder.merge("new-application-in-a-project-of-others-before-merge", scene, added, { only: [] });
  const moved = await scene.open(definition("web", { project: "payments" }));
  await scene.approve(moved, "bo");
  await recorder.standing("application-moved-into-a-project-of-others", scene, moved);
  await recorder.sync("application-moved-into-a-project-of-others-before-sync", scene, moved);
}

async function playApprovals(recorder: Recorder): Promise<void> {
  const scene = recorder.scene({ defaults: { require_approval: true } });
  const number = await scene.open(BOTH);
  await recorder.standing("unapproved", scene, number);
  await recorder.sync("unapproved-before-sync", scene, number);
  await recorder.sync("unapproved-before-dry-run", scene, number, { dryRun: true });
  await recorder.rollback("unapproved-before-rollback", scene, number);
  await scene.approve(number, "ana");
  await recorder.standing("approved-by-the-author", scene, number);
  await recorder.sync("approved-by-the-author-before-sync", scene, number);
  await scene.approve(number, "bo");
  await recorder.standing("approved", scene, number);
  await recorder.sync("approved-before-sync", scene, number);
  await recorder.confirmed("approval-withdrawn-during-sync", scene, number, () => scene.host.approve(number));
  await scene.approve(number, "bo");
  await scene.say(number, "svc sync -a web");
  await recorder.standing("approved-and-partly-synced", scene, number);
  await recorder.rollback("approved-and-deployed-before-rollback", scene, number);
  await scene.say(number, "svc sync");
  await scene.approve(number);
  await recorder.standing("synced-and-approval-withdrawn", scene, number);
  await recorder.merge("synced-and-approval-withdrawn-before-merge", scene, number, { only: ["web", "api"] });

  const one = recorder.scene({ rules: APPROVED_API });
  const mixed = await one.open(BOTH);
  await recorder.standing("one-application-unapproved", one, mixed);
  await recorder.sync("one-application-unapproved-before-sync", one, mixed);
  await recorder.sync("without-the-unapproved-one-before-sync", one, mixed, { only: ["web"] });
  await one.say(mixed, "svc sync -a web");
  await recorder.standing("all-but-the-unapproved-one-synced", one, mixed);
  const added = await one.open({ ...filesOf("api-2") });
  await recorder.standing("new-application-without-approval", one, added);
  const required = recorder.scene({ defaults: { require_approval: true } });
  const fresh = await required.open(filesOf("shop"));
  await recorder.standing("new-application-unapproved", required, fresh);
  await recorder.merge("new-application-unapproved-before-merge", required, fresh, { only: [] });
  await required.approve(fresh, "bo");
  await recorder.standing("new-application-approved", required, fresh);
}

async function playLists(recorder: Recorder): Promise<void> {
  const scene = recorder.scene({ rules: LISTS });
  const number = await scene.open(BOTH);
  await recorder.standing("one-application-with-a-list", scene, number);
  await recorder.sync("barred-by-a-list-before-sync", scene, number);
  await recorder.sync("barred-by-a-list-for-the-named-one-before-sync", scene, number, { only: ["api"] });
  await recorder.rollback("barred-by-a-list-before-rollback", scene, number);
  await recorder.asked("barred-by-a-list-before-plan", "plan", scene, number);
  await recorder.asked("barred-by-a-list-before-unlock", "unlock", scene, number);
  await scene.say(number, "svc sync -a web");
  await recorder.standing("all-but-the-listed-one-synced", scene, number);
  const added = await scene.open({ "apps/api/configmap.yaml": null, "argocd/api.yaml": null });
  await recorder.standing("deleted-application-with-a-list", scene, added);
  await recorder.merge("deleted-application-with-a-list-before-merge", scene, added, { only: [] });

  const teams = recorder.scene({ rules: TEAMS });
  teams.host.setTeam("acme/platform", "bo");
  const listed = await teams.open(BOTH);
  await recorder.standing("one-application-with-a-team", teams, listed);
  await recorder.sync("barred-by-a-team-before-sync", teams, listed);
  await recorder.sync("let-in-by-a-team-before-sync", teams, listed, { by: BO });
  const empty = recorder.scene({ rules: NOBODY });
  const locked = await empty.open(BOTH);
  await recorder.standing("one-application-with-an-empty-list", empty, locked);
  await recorder.sync("barred-by-an-empty-list-before-sync", empty, locked);
}

async function playLocks(recorder: Recorder): Promise<void> {
  const scene = recorder.scene();
  const holder = await scene.open(config("web", "2"));
  const waiting = await scene.open({ ...config("web", "3"), ...config("api", "3") });
  await recorder.standing("one-application-locked-by-another", scene, waiting);
  await recorder.sync("the-other-locked-by-another-before-sync", scene, waiting);
  await scene.say(waiting, "svc sync");
  await recorder.standing("one-synced-and-one-locked-by-another", scene, waiting);
  await recorder.merge("locked-by-another-before-merge", scene, waiting, { only: ["api"] });
  const alone = await scene.open(config("web", "4"));
  await recorder.standing("locked-by-another", scene, alone);
  await takenOver(scene, holder);
  await recorder.standing("deployed-and-lock-gone-to-another", scene, holder);
  await recorder.rollback("takeable-lock-before-rollback", scene, holder);
  await scene.say(alone, "svc sync");
  await recorder.standing("replaced-by-another", scene, holder);
  await recorder.rollback("replaced-by-another-before-rollback", scene, holder);
  await recorder.standing("replaced-another", scene, alone);

  const forced = recorder.scene();
  const lost = await forced.open(config("web", "2"));
  await recorder.confirmed("lock-released-during-sync", forced, lost, async () => {
    for (const { application, holder: known } of await forced.stores.locks.list()) {
      await forced.stores.locks.release(application, known);
    }
  });
  await recorder.standing("lock-expired", forced, lost);
  const other = await forced.open(config("web", "3"));
  await recorder.standing("lock-expired-and-taken", forced, lost);
  await recorder.standing("took-an-expired-lock", forced, other);
  await forced.say(other, "svc unlock");
  await recorder.standing("unlocked", forced, other);
  await forced.say(lost, "svc plan");
  await recorder.confirmed("lock-taken-during-sync", forced, lost, async () => {
    await forced.say(lost, "svc unlock");
    await forced.say(other, "svc plan");
  });
}

/** The holder deploys and unlocks; whoever waits plans. */
async function takenOver(scene: Scene, holder: number): Promise<void> {
  await scene.say(holder, "svc sync");
  await scene.say(holder, "svc unlock");
  await scene.say(holder + 2, "svc plan");
}
