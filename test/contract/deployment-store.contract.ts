import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { applicationName, repositoryName, revision } from "../../src/core/model/brand.js";
import type { ChangeRequestRef } from "../../src/core/model/change-request.js";
import type { Deployment } from "../../src/core/model/deployment.js";
import type { DeploymentStore } from "../../src/core/ports/stores.js";
import type { StoresUnderTest } from "./stores-under-test.js";

const one: ChangeRequestRef = { host: "hosta", repository: repositoryName("acme/deploy"), number: 1 };
const two: ChangeRequestRef = { ...one, number: 2 };
const web = applicationName("web");
const api = applicationName("team/api");

const deployed: Deployment = {
  application: web,
  change: one,
  revision: revision("a".repeat(40)),
  outcome: "started",
  pins: [{ position: 1, revision: revision("2".repeat(40)) }],
  specBefore: {
    project: "default",
    source: { helm: { parameters: [], values: "a: 1.10\n" } },
    revisionHistoryLimit: 3,
  },
  specWritten: undefined,
  approvers: ["bo"],
  user: "ana",
  timestamp: "2026-03-02T10:00:00.000Z",
};

/** What every `DeploymentStore` must do. */
export function deploymentStoreContract(name: string, start: () => Promise<StoresUnderTest>): void {
  describe(`deployment store: ${name}`, () => {
    let under: StoresUnderTest;
    let deployments: DeploymentStore;
    beforeAll(async () => {
      under = await start();
    });
    afterAll(() => under.stop());
    beforeEach(async () => {
      await under.clear();
      deployments = under.stores.deployments;
    });

    test("a record comes back as it was saved, specs included", async () => {
      const spec = { project: "other", sources: [{ path: "a" }, {}], empty: null };
      const full = { ...deployed, specWritten: spec, specReplaced: { ...spec, project: "" } };
      await deployments.save(full);
      expect(await deployments.ofApplication(web)).toEqual([full]);
    });

    test("a second save of the same application and change request replaces the first", async () => {
      await deployments.save(deployed);
      await deployments.save({ ...deployed, outcome: "succeeded" });
      expect(await deployments.list()).toEqual([{ ...deployed, outcome: "succeeded" }]);
    });

    test("records are found by application, by change request, and all", async () => {
      await deployments.save(deployed);
      await deployments.save({ ...deployed, change: two });
      await deployments.save({ ...deployed, application: api });
      const named = (records: readonly Deployment[]) =>
        records.map((record) => `${record.application} #${record.change.number}`).sort();
      expect(named(await deployments.ofApplication(web))).toEqual(["web #1", "web #2"]);
      expect(named(await deployments.ofChange(one))).toEqual(["team/api #1", "web #1"]);
      expect(named(await deployments.list())).toEqual(["team/api #1", "web #1", "web #2"]);
      expect(await deployments.ofChange({ ...one, host: "hostb" })).toEqual([]);
      expect(await deployments.ofApplication(applicationName("we"))).toEqual([]);
    });

    test("a removal takes away one record only, and may be repeated", async () => {
      await deployments.save(deployed);
      await deployments.save({ ...deployed, change: two });
      await deployments.remove(web, one);
      await deployments.remove(web, one);
      await deployments.remove(api, one);
      expect((await deployments.list()).map((record) => record.change.number)).toEqual([2]);
    });

    test("a record is that of its repository under every name, and another repository that got the name has none", async () => {
      const known = { ...one, repositoryId: "11" };
      const renamed = { ...known, repository: repositoryName("acme/renamed") };
      const newcomer = { ...one, repositoryId: "22" };
      await deployments.save({ ...deployed, change: known });
      await deployments.save({ ...deployed, change: newcomer, user: "mallory" });
      await deployments.save({ ...deployed, change: renamed, outcome: "succeeded" });
      expect(await deployments.ofChange(known)).toEqual([{ ...deployed, change: renamed, outcome: "succeeded" }]);
      expect(await deployments.ofChange(newcomer)).toMatchObject([{ user: "mallory" }]);
      await deployments.remove(web, newcomer);
      expect(await deployments.list()).toMatchObject([{ change: renamed }]);
      await deployments.remove(web, known);
      expect(await deployments.list()).toEqual([]);
    });

    test("a record without an id goes by name", async () => {
      const known = { ...one, repositoryId: "11" };
      await deployments.save(deployed);
      expect(await deployments.ofChange(known)).toEqual([deployed]);
      await deployments.save({ ...deployed, change: known });
      expect(await deployments.list()).toEqual([{ ...deployed, change: known }]);
      await deployments.remove(web, one);
      expect(await deployments.list()).toEqual([]);
    });

    test("a removal with a uid takes away a record of that Application alone", async () => {
      await deployments.save(deployed);
      await deployments.remove(web, one, "old");
      await deployments.save({ ...deployed, uid: "new" });
      await deployments.remove(web, one, "old");
      expect(await deployments.list()).toEqual([{ ...deployed, uid: "new" }]);
      await deployments.remove(web, one, "new");
      await deployments.remove(api, one, "new");
      expect(await deployments.list()).toEqual([]);
    });

    test("a record outlives everything that expires", async () => {
      await deployments.save(deployed);
      await under.expire();
      expect(await deployments.list()).toEqual([deployed]);
    });
  });
}
