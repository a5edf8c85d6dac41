import { createHmac, randomUUID } from "node:crypto";
import { describe, expect, test } from "@jest/globals";
import type { FileChanges } from "../../sandbox/forge.js";
import type { HostId } from "../../src/names.js";
import { HOSTS, REPOSITORY } from "../scenarios/bot.js";
import { applicationResource, asYaml, changeOf } from "../scenarios/resources.js";
import { refOn, SECRETS, startTwoHosts, type TwoHosts } from "./two-hosts.js";

const OTHER: Readonly<Record<HostId, HostId>> = { hosta: "hostb", hostb: "hosta" };

/** The owner's change request holds `web`; one of the same repository name and number is opened on the other host. */
async function startTheft(
  owner: HostId,
): Promise<{ readonly both: TwoHosts; readonly thief: HostId; readonly number: number }> {
  const both = await startTwoHosts(owner);
  const thief = OTHER[owner];
  const number = await both.forges[owner].open({ repository: REPOSITORY, by: "ana", changes: changeOf(["web"]) });
  await both.idle();
  const same = await both.forges[thief].open({
    repository: REPOSITORY,
    by: "bo",
    changes: changeOf(["web"], "stolen"),
  });
  await both.idle();
  expect(same).toBe(number);
  expect(await both.locked(refOn(owner, number))).toEqual(["web"]);
  return { both, thief, number };
}

async function say(both: TwoHosts, host: HostId, number: number, body: string): Promise<void> {
  await both.forges[host].comment(REPOSITORY, number, "bo", body);
  await both.idle();
}

describe.each(HOSTS)(
  "an application of %s, and a repository of the same name and number on the other host",
  (owner) => {
    test("no command there deploys it, takes its lock or releases it", async () => {
      const { both, thief, number } = await startTheft(owner);
      for (const command of ["plan -a web", "sync", "unlock", "unlock -a web", "rollback -a web"]) {
        await say(both, thief, number, `svc ${command}`);
        expect([command, await both.locked(refOn(owner, number))]).toEqual([command, ["web"]]);
        expect([command, await both.locked(refOn(thief, number))]).toEqual([command, []]);
      }
      expect(both.changes()).toEqual([]);
      expect(JSON.stringify(both.forges[thief].changeRequest(REPOSITORY, number))).not.toContain("succeeded");
    });

    test("its close and its merge there release nothing here, and end no record", async () => {
      const { both, thief, number } = await startTheft(owner);
      await both.forges[owner].comment(REPOSITORY, number, "ana", "svc sync");
      await both.idle();
      await both.forges[owner].comment(REPOSITORY, number, "ana", "svc plan");
      await both.idle();
      expect(both.changes()).toEqual(["sync web"]);
      await both.forges[thief].mergeByHand(REPOSITORY, number, "bo");
      await both.idle();
      const second = await both.forges[thief].open({
        repository: REPOSITORY,
        by: "bo",
        changes: { "README.md": "2\n" },
      });
      await both.forges[thief].close(REPOSITORY, second);
      await both.idle();
      expect(await both.locked(refOn(owner, number))).toEqual(["web"]);
      const records = await both.stores.deployments.ofChange(refOn(owner, number));
      expect(records.map(({ application }) => application)).toEqual(["web"]);
      expect(both.forges[owner].changeRequest(REPOSITORY, number).state).toBe("open");
    });

    test("its approval there is none here", async () => {
      const { both, thief, number } = await startTheft(owner);
      const policy = { ".svc.yaml": "require_approval: true\n" };
      await both.forges[owner].pushToBranch(REPOSITORY, "main", policy);
      await both.forges[thief].review(REPOSITORY, number, "ana", "approve");
      await both.idle();
      await both.forges[owner].comment(REPOSITORY, number, "bo", "svc sync");
      await both.idle();
      expect(both.lastComment(owner, number)).toContain("PR must be approved before sync");
      expect(both.changes()).toEqual([]);
    });

    test("its webhook secret opens no door here", async () => {
      const { both, thief, number } = await startTheft(owner);
      const before = both.forges[owner].changeRequest(REPOSITORY, number).comments.length;
      expect(await knock(both, owner, number, SECRETS[thief])).toBe(401);
      expect(await knock(both, owner, 999, SECRETS[owner])).toBe(200);
      await both.idle();
      expect(both.forges[owner].changeRequest(REPOSITORY, number).comments).toHaveLength(before);
      expect(await both.locked(refOn(owner, number))).toEqual(["web"]);
      expect(both.changes()).toEqual([]);
    });
  },
);

const NAMED = "svc.dev/repository";
const PREFIX: Readonly<Record<HostId, string>> = { hosta: "github", hostb: "gitlab" };

/** A definition of `web` that differs from the live one, in the repository of this host. */
function definition(both: TwoHosts, owner: HostId): FileChanges {
  const repoURL = `${both.forges[owner].url}/${REPOSITORY}.git`;
  return { "argocd/web.yaml": asYaml(applicationResource("web", { repoURL, targetRevision: "v2" })) };
}

async function plannedOn(both: TwoHosts, host: HostId, owner: HostId): Promise<number> {
  const number = await both.forges[host].open({ repository: REPOSITORY, by: "bo", changes: definition(both, owner) });
  await both.idle();
  return number;
}

describe.each(HOSTS)("an application of %s whose repository an administrator named", (owner) => {
  const thief = OTHER[owner];

  test("in the annotation without a host: the name gives no right to either, and the plan says how to write it", async () => {
    const both = await startTwoHosts(owner, { annotations: { [NAMED]: REPOSITORY } });
    const theft = await plannedOn(both, thief, owner);
    expect(await both.locked(refOn(thief, theft))).toEqual([]);
    const said = both.lastComment(thief, theft);
    expect(said).toContain(
      `Its annotation ${NAMED} names no host, and svc serves several, so it gives no right. ` +
        `To let this repository deploy it, set the annotation ${NAMED}: ${PREFIX[thief]}:${REPOSITORY} on the live Application`,
    );
    await say(both, thief, theft, "svc sync -a web");
    expect(both.changes()).toEqual([]);
  });

  test.each(["", " in capitals"])(
    "with its host%s: a repository of that name on the other host gets no right",
    async (how) => {
      const name = how === "" ? REPOSITORY : REPOSITORY.toUpperCase();
      const both = await startTwoHosts(owner, { annotations: { [NAMED]: ` ${PREFIX[owner]}:${name} ` } });
      const theft = await plannedOn(both, thief, owner);
      expect(await both.locked(refOn(thief, theft))).toEqual([]);
      expect(both.lastComment(thief, theft)).toContain(
        `no source of the live Application points at ${REPOSITORY}. To let`,
      );
      expect(both.changes()).toEqual([]);
    },
  );

  test("with the other host: that repository has the right", async () => {
    const both = await startTwoHosts(owner, { annotations: { [NAMED]: `${PREFIX[thief]}:${REPOSITORY}` } });
    const number = await plannedOn(both, thief, owner);
    expect(await both.locked(refOn(thief, number))).toEqual(["web"]);
  });

  test("in application_repositories: the entry means one host", async () => {
    const entry = (host: HostId) => [{ application: "we*", repositories: [`${PREFIX[host]}:acme/*`] }];
    const both = await startTwoHosts(owner, { config: { application_repositories: entry(owner) } });
    const theft = await plannedOn(both, thief, owner);
    expect(await both.locked(refOn(thief, theft))).toEqual([]);
    expect(both.lastComment(thief, theft)).toContain(
      `no source of the live Application points at ${REPOSITORY}. To let`,
    );
    const named = await startTwoHosts(owner, { config: { application_repositories: entry(thief) } });
    const number = await plannedOn(named, thief, owner);
    expect(await named.locked(refOn(thief, number))).toEqual(["web"]);
  });

  test("in allowed_repos with its host: the other host's repository is not served", async () => {
    const both = await startTwoHosts(owner, {
      config: { defaults: { allowed_repos: [`${PREFIX[owner]}:${REPOSITORY}`] } },
    });
    const theft = await both.forges[thief].open({ repository: REPOSITORY, by: "bo", changes: changeOf(["web"]) });
    const own = await both.forges[owner].open({ repository: REPOSITORY, by: "ana", changes: changeOf(["web"]) });
    await both.idle();
    await say(both, thief, theft, "svc plan");
    expect(both.forges[thief].changeRequest(REPOSITORY, theft).comments.map(({ body }) => body)).toEqual(["svc plan"]);
    expect(await both.locked(refOn(owner, own))).toEqual(["web"]);
  });
});

describe.each(HOSTS)("a check that fails for an application of %s", (owner) => {
  /** `bo` is in the team on this host alone, which `of` names, and approves. */
  async function syncWithTeam(of: HostId): Promise<TwoHosts & { readonly number: number }> {
    const command = ["sh", "-c", `if grep -q forbidden; then exit 1; fi`];
    const checks = [{ name: "values", command, overridable_by: [`${PREFIX[of]}:acme/platform`] }];
    const both = await startTwoHosts(owner, { config: { checks } });
    both.forges[owner].setTeam("acme/platform", ["bo"]);
    const changes = changeOf(["web"], "forbidden");
    const number = await both.forges[owner].open({ repository: REPOSITORY, by: "ana", changes });
    await both.idle();
    await both.forges[owner].review(REPOSITORY, number, "bo", "approve");
    await both.idle();
    await say(both, owner, number, "svc sync");
    return { ...both, number };
  }

  test("is not lifted by a team of the same name as that of the other host", async () => {
    const both = await syncWithTeam(OTHER[owner]);
    expect(both.lastComment(owner, both.number)).toContain("check values failed: exit code 1: fix it and push");
    expect(both.lastComment(owner, both.number)).not.toContain("acme/platform");
    expect(both.changes()).toEqual([]);
  });

  test("is lifted by the team of this host", async () => {
    const both = await syncWithTeam(owner);
    expect(both.changes()).toEqual(["sync web"]);
  });
});

/** Sends a merge of the change request to the host's route with every header that either host uses. */
async function knock(both: TwoHosts, host: HostId, number: number, secret: string): Promise<number> {
  const body = JSON.stringify({
    action: "closed",
    object_kind: "merge_request",
    repository: { full_name: REPOSITORY },
    pull_request: { number, merged: true },
    project: { path_with_namespace: REPOSITORY },
    object_attributes: { iid: number, action: "merge" },
  });
  const response = await fetch(`${both.service.url}/webhook/${host}`, {
    method: "POST",
    body,
    headers: {
      "content-type": "application/json",
      "x-github-event": "pull_request",
      "x-github-delivery": randomUUID(),
      "x-hub-signature-256": `sha256=${createHmac("sha256", secret).update(body).digest("hex")}`,
      "x-gitlab-event": "Merge Request Hook",
      "x-gitlab-token": secret,
      "idempotency-key": randomUUID(),
    },
  });
  return response.status;
}
