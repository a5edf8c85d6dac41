import {
  DeployerFailure,
  HostFailure,
  RepositoryFailure,
  StoredValueUnreadable,
} from "../../../src/core/model/errors.js";
import type { Dependencies } from "../../../src/run/line/run.js";
import {
  confirmedSyncFacts,
  mergeFacts,
  rollbackFacts,
  standingFacts,
  syncFacts,
  ROLLBACK,
  SYNC,
  type World,
} from "../facts-of-commands.js";
import type { Recorder } from "../recorder.js";
import { ANA, config, failing, type Scene } from "../scene.js";

const HOST_DOWN = new HostFailure("unreachable", "the code host did not answer in time");
const DEPLOYER_DOWN = new DeployerFailure("unreachable", "Argo CD did not answer in time");
const REPOSITORY_DOWN = new RepositoryFailure("the commits could not be read");
const TOO_NEW = new StoredValueUnreadable("a newer version of svc wrote it");

/** Facts that cannot be read. */
export async function playOutages(recorder: Recorder): Promise<void> {
  const scene = recorder.scene({ defaults: { require_approval: true } });
  const number = await scene.open({ ...config("web", "2"), ...config("api", "2") });
  const change = () => scene.change(number);
  const standing = async (name: string, world: World) => recorder.keep(name, await standingFacts(change(), world));
  await standing("plan-unreadable", withPort(scene, "plans", { find: TOO_NEW }));
  await standing("locks-unreadable", withPort(scene, "locks", { list: TOO_NEW }));
  await standing("records-unreadable", withPort(scene, "deployments", { list: TOO_NEW }));
  await standing("approval-unreadable", withHost(scene, { reviews: HOST_DOWN }));
  scene.host.approve(number, "bo");
  await standing("commits-unreadable", withHost(scene, { authorship: REPOSITORY_DOWN }));

  const given = { change: change(), user: ANA };
  const before = async (name: string, world: World) => {
    const found = await syncFacts(SYNC, given, world);
    if (found.kind === "facts") recorder.keep(name, found.facts);
  };
  await before("mergeability-unreadable-before-sync", withHost(scene, { mergeability: HOST_DOWN }));
  await before("approval-unreadable-before-sync", withHost(scene, { reviews: HOST_DOWN }));
  await before("locks-unreadable-before-sync", withPort(scene, "locks", { list: TOO_NEW }));
  const back = await rollbackFacts(ROLLBACK, given, withHost(scene, { mayCommand: HOST_DOWN }));
  if (back.kind === "facts") recorder.keep("access-unreadable-before-rollback", back.facts);
  await playConfirmations(recorder, scene, number);

  scene.host.approve(number, "bo");
  await scene.say(number, "svc sync");
  await standing("plan-unreadable-after-sync", withPort(scene, "plans", { find: TOO_NEW }));
  await standing("approval-unreadable-after-sync", withHost(scene, { reviews: HOST_DOWN }));
  const unread = withHost(scene, { reviews: HOST_DOWN });
  const { applications } = await standingFacts(change(), scene.world);
  const involved = applications.map(({ application }) => application);
  const merge = await mergeFacts(involved, [], { change: change(), user: ANA }, unread);
  recorder.keep("approval-unreadable-before-merge", merge);
  await scene.close(number);
  await standing("records-unreadable-of-a-closed-one", withPort(scene, "deployments", { list: TOO_NEW }));
}

/** What is read again right before the first call that deploys. */
async function playConfirmations(recorder: Recorder, scene: Scene, number: number): Promise<void> {
  const given = { change: scene.change(number), user: ANA };
  const confirmed = async (name: string, port: "host" | keyof Dependencies, method: string, error: Error) => {
    const faults: Record<string, Error> = {};
    const world = port === "host" ? withHost(scene, faults) : withPort(scene, port, faults);
    recorder.keep(name, await confirmedSyncFacts(SYNC, given, world, () => void (faults[method] = error)));
  };
  await confirmed("change-unreadable-during-sync", "host", "getChangeRequest", HOST_DOWN);
  await confirmed("access-unreadable-during-sync", "host", "mayCommand", HOST_DOWN);
  await confirmed("approval-unreadable-during-sync", "host", "reviews", HOST_DOWN);
  await confirmed("applications-unreadable-during-sync", "deployer", "findApplication", DEPLOYER_DOWN);
  await confirmed("locks-unreadable-during-sync", "locks", "acquire", TOO_NEW);
}

function withHost(scene: Scene, faults: Readonly<Record<string, Error>>): World {
  return { host: failing(scene.host, faults), dependencies: scene.dependencies };
}

function withPort(scene: Scene, port: keyof Dependencies, faults: Readonly<Record<string, Error>>): World {
  const { dependencies } = scene;
  const failed = failing(dependencies[port] as object, faults);
  return { host: scene.host, dependencies: { ...dependencies, [port]: failed } };
}
