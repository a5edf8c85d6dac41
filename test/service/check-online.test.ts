import { afterEach, describe, expect, test } from "@jest/globals";
import { startSandbox, type SandboxWorld } from "../../sandbox/world.js";
import { checkOnline } from "../../src/service/check-online.js";
import { localServer } from "../local-server.js";
import { configFor } from "../scenarios/bot-options.js";
import { HOSTS, REPOSITORY } from "../scenarios/bot.js";
import { applicationResource } from "../scenarios/resources.js";

let world: SandboxWorld | undefined;
afterEach(() => world?.stop());

describe.each(HOSTS)("svc check --online against %s", (host) => {
  const [title, on, missing] =
    host === "hosta"
      ? ["GitHub", "deployments", "the App lacks the permission `Deployments: read and write`"]
      : ["GitLab", "environments", "the token of gitlab.token lacks the scope `api`"];

  async function check(
    setting: boolean,
    prepare: (world: SandboxWorld) => Promise<void> | void = () => undefined,
    files: Parameters<typeof checkOnline>[1] = [],
  ) {
    world = await startSandbox({ github: host === "hosta", gitlab: host === "hostb" });
    const forge = host === "hosta" ? world.github : world.gitlab;
    await forge?.createRepository(REPOSITORY, { "README.md": "hello" });
    forge?.deployments.forbid(REPOSITORY);
    world.gitlab?.deployments.setScopes("read_api");
    await prepare(world);
    return checkOnline(configFor(world, { host, config: { [host]: { [on]: setting } } }), files);
  }

  test("says which permission is missing, if it is needed", async () => {
    const { lines, exitCode } = await check(true);
    expect(lines.join("\n")).toContain(`a permission is missing: ${missing}`);
    expect(exitCode).toBe(1);
    await world?.stop();
    const fine = await check(false);
    const seen = fine.lines.filter((line) => !line.startsWith("warning"));
    expect([...seen].sort()).toEqual(["connected to Argo CD", `connected to ${title}`]);
    expect(fine.exitCode).toBe(0);
  });

  test("says what to do if it polls and sees no repository, and is content where it sees one", async () => {
    const look = async (allowed: string) => {
      world = await startSandbox({ github: host === "hosta", gitlab: host === "hostb" });
      await (world.github ?? world.gitlab)?.createRepository(REPOSITORY, { "README.md": "hello" });
      const config = { [host]: { poll: "15s" }, defaults: { allowed_repos: [allowed] } };
      const checked = await checkOnline(configFor(world, { host, config }));
      await world.stop();
      world = undefined;
      return checked;
    };
    const { lines, exitCode } = await look("acme/other");
    const cure = host === "hosta" ? "install the App on the repository" : "give the token's account the role Developer";
    expect(lines).toContainEqual(
      expect.stringContaining(
        `there is nothing to poll: ${title} shows svc no repository that defaults.allowed_repos names: ${cure}`,
      ),
    );
    expect(exitCode).toBe(1);
    expect(await look(REPOSITORY)).toMatchObject({ exitCode: 0 });
  });

  test("says what svc lacks for the queue or the trains of a repository, as a warning", async () => {
    const { lines, exitCode } = await check(false, async ({ github, gitlab }) => {
      await (github ?? gitlab)?.createRepository("acme/other", { "README.md": "hello" });
      github?.useMergeQueue(REPOSITORY);
      github?.forbidMergeQueues();
      gitlab?.useMergeTrain(REPOSITORY);
      gitlab?.webhooks.setProjectLevel(REPOSITORY, 30);
    });
    const about = lines.filter((line) => /merge (?:queue|trains)/.test(line));
    expect(about).toEqual(
      host === "hosta"
        ? [
            `warning: the App lacks the permission "Merge queues: read", and these repositories have a merge queue: ${REPOSITORY}. A queue that requires svc/sync merges nothing there. Add it in the App's settings, and accept it in the installations`,
          ]
        : [
            `warning: ${REPOSITORY} has merge trains, and GitLab puts on them what svc has not deployed: tick "Pipelines must succeed" in its merge request settings`,
            `warning: ${REPOSITORY} has merge trains, and auto_merge cannot use them unless the account of gitlab.token may merge into main: give it the role Maintainer, or list it under "allowed to merge" of that branch`,
          ],
    );
    expect(exitCode).toBe(0);
    expect([world?.github?.violations ?? [], world?.gitlab?.violations ?? []]).toEqual([[], []]);
  });

  test.each(host === "hosta" ? [403, 404] : [404])(
    "goes on where the host does not tell how a branch is protected (%d)",
    async (status) => {
      const { lines, exitCode } = await check(false, ({ github, gitlab }) => {
        github?.forbidMergeQueues();
        gitlab?.useMergeTrain(REPOSITORY);
        gitlab?.webhooks.setProjectLevel(REPOSITORY, 30);
        const body = JSON.stringify({ message: "Upgrade to GitHub Pro or make this repository public" });
        const path = host === "hosta" ? /\/rules\/branches\// : /\/repository\/branches\//;
        (github ?? gitlab)?.faults.add({ method: "GET", path, fault: { kind: "status", status, body } });
      });
      expect(lines).toContainEqual(expect.stringContaining("webhook"));
      expect(exitCode).toBe(0);
    },
  );

  test("says that Argo CD does not list its applications, which is no warning, and looks at the host", async () => {
    const { lines, exitCode } = await check(false, ({ argocd, gitlab }) => {
      gitlab?.webhooks.setProjectLevel(REPOSITORY, 30);
      const fault = { kind: "status", status: 500, body: JSON.stringify({ error: "out of order", code: 2 }) } as const;
      argocd.faults.add({ method: "GET", path: /\/applications$/, times: 100, fault });
    });
    expect(lines).toContainEqual(expect.stringContaining("could not list the applications: out of order"));
    expect(lines).toContainEqual(expect.stringContaining("webhook"));
    expect(exitCode).toBe(1);
  });

  test("says what it could not look at, and goes on with the rest", async () => {
    const { lines, exitCode } = await check(false, ({ github, gitlab }) => {
      github?.forbidMergeQueues();
      gitlab?.useMergeTrain(REPOSITORY);
      gitlab?.webhooks.setProjectLevel(REPOSITORY, 30);
      const path = host === "hosta" ? /\/rules\/branches\// : /\/repository\/branches\//;
      (github ?? gitlab)?.faults.add({ method: "GET", path, fault: { kind: "status", status: 500, body: "{}" } });
    });
    const failed = `warning: could not look at the repositories on ${title}: ${title} failed (500) when asked to`;
    expect(lines).toContainEqual(expect.stringContaining(failed));
    expect(lines).toContainEqual(expect.stringContaining("webhook"));
    expect(exitCode).toBe(0);
  });

  test("says why no webhook arrives, and what to do, as a warning", async () => {
    const sent = async (status: number | undefined, level = 30) => {
      world = await startSandbox({ github: host === "hosta", gitlab: host === "hostb" });
      const forge = world.github ?? world.gitlab;
      await forge?.createRepository(REPOSITORY, { "README.md": "hello" });
      world.gitlab?.webhooks.setProjectLevel(REPOSITORY, level);
      const receiver = await localServer((_request, response) => response.writeHead(status ?? 200).end());
      if (status !== undefined) {
        forge?.connect({ url: `${receiver.url}/webhook/${host}`, secret: "a-secret-of-sixteen" });
        await forge?.open({ repository: REPOSITORY, by: "ana", changes: { "README.md": "2" } });
        await forge?.idle();
      }
      const { lines, exitCode } = await checkOnline(configFor(world, { host }));
      expect(exitCode).toBe(0);
      expect([world.github?.violations ?? [], world.gitlab?.violations ?? []]).toEqual([[], []]);
      await receiver.stop();
      await world.stop();
      world = undefined;
      return lines.filter((line) => line.startsWith("warning"));
    };
    if (host === "hostb") {
      const hidden = `warning: GitLab shows the webhooks of ${REPOSITORY} to maintainers alone: look there for the recent events of svc's`;
      expect(await sent(undefined)).toEqual([hidden]);
      expect(await sent(undefined, 40)).toEqual([
        `warning: ${REPOSITORY} has no webhook to svc: unless its group has one, create it with svc setup gitlab, or set gitlab.poll`,
      ]);
      return;
    }
    expect(await sent(undefined)).toEqual([
      expect.stringContaining("GitHub has sent no webhook in the last three days"),
    ]);
    expect(await sent(401)).toEqual([
      "warning: GitHub's newest webhook was not accepted (Invalid HTTP Response: 401, 2026-11-24T12:00:00Z): github.webhook_secret has to be the secret in the App's settings",
    ]);
    expect(await sent(502)).toEqual([
      expect.stringContaining("make the address in the App's settings reachable from GitHub, or set github.poll"),
    ]);
    expect(await sent(200)).toEqual([]);
  });

  test("names what Argo CD cannot compare, with its reason and the cure, and leaves what it can", async () => {
    const unreadable = "https://ana:hunter2hunter2@git.example.com/acme/gone.git";
    const { lines, exitCode } = await check(false, async ({ argocd, argocdToken, github, gitlab }) => {
      const own = (github ?? gitlab)?.cloneUrl(REPOSITORY) ?? "";
      argocd.addApplication(applicationResource("web", { repoURL: own, path: "." }));
      argocd.addApplication(applicationResource("lost", { repoURL: unreadable, path: "." }));
      for (const name of ["web", "lost"]) {
        const headers = { authorization: `Bearer ${argocdToken}` };
        await fetch(`${argocd.url}/api/v1/applications/${name}?refresh=normal`, { headers });
      }
    });
    const warnings = lines.filter((line) => line.includes("compare") || line.includes("argocd repo add"));
    expect(warnings).toEqual([
      expect.stringMatching(
        /^warning: Argo CD cannot compare lost \(https:\/\/\(hidden\)@git\.example\.com\/acme\/gone\.git\): .*not found$/,
      ),
      expect.stringContaining("give it credentials (argocd repo add"),
    ]);
    expect(exitCode).toBe(0);
  });

  test("names the stages of a repository's file that no application of Argo CD is in", async () => {
    const stages =
      "stages: [{name: dev, applications: dev-*}, {name: qa, applications: qa-*}, {name: prod, applications: '*'}]";
    const { lines, exitCode } = await check(
      false,
      ({ argocd, github, gitlab }) => {
        const repoURL = (github ?? gitlab)?.cloneUrl(REPOSITORY) ?? "";
        for (const name of ["dev-web", "web"]) argocd.addApplication(applicationResource(name, { repoURL, path: "." }));
      },
      [{ name: "shop/.svc.yaml", text: stages }],
    );
    expect(lines.filter((line) => line.includes("stage"))).toEqual([
      "warning: shop/.svc.yaml: stages: Argo CD has no application for stage qa (qa-*)",
    ]);
    expect(exitCode).toBe(0);
  });

  test("says that a server is older than svc supports, and is content with the oldest one that it does", async () => {
    const [old, oldest] = host === "hosta" ? ["3.9.4", "3.10.0"] : ["16.3.9-ee", "16.4.0-ee"];
    const set = (version: string) => (started: SandboxWorld) => {
      started.github?.setVersion(version);
      started.gitlab?.setVersion(version);
    };
    const { lines, exitCode } = await check(false, set(old));
    const [short, least] = host === "hosta" ? ["3.9", "3.10"] : ["16.3", "16.4"];
    expect(lines).toContain(
      `an older version than svc supports: ${title} ${short} is older than ${least}, so it lacks answers that gates rest on: update ${title}`,
    );
    expect(exitCode).toBe(1);
    await world?.stop();
    expect(await check(false, set(oldest))).toMatchObject({ exitCode: 0 });
  });

  test("ends a sentence once, also where a cure follows it", async () => {
    const { lines, exitCode } = await check(false, ({ github, gitlab }) => {
      for (const forge of [github, gitlab]) forge?.faults.add({ fault: { kind: "status", status: 401, body: "{}" } });
    });
    const line = lines.find((each) => each.startsWith(`not usable at start: ${title}: `));
    expect(line).toContain(`: check ${host === "hosta" ? "github.app_id" : "gitlab.url"}`);
    expect(lines.filter((each) => /[.:]:|\.\./.test(each))).toEqual([]);
    expect(exitCode).toBe(1);
  });

  test("says which system refuses the credentials, and what to do", async () => {
    const { lines, exitCode } = await check(false, ({ argocd }) => {
      argocd.faults.add({ fault: { kind: "status", status: 401, body: "{}" } });
    });
    expect(lines.join("\n")).toMatch(/not usable at start: Argo CD: .*check argocd\.server_url/);
    expect(exitCode).toBe(1);
  });
});
