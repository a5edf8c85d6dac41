import { afterEach, expect, test } from "@jest/globals";
import type { Permissions } from "../../sandbox/argocd/accounts.js";
import { startArgoCd, type ArgoCd } from "../../sandbox/argocd/argocd.js";
import { recordExchanges } from "../contract-replay/recording.js";
import { startGitElsewhere } from "../git/git-launcher.js";
import { JumpClock } from "../jump-clock.js";
import { sharedPool } from "../workers/shared-pool.js";
import { ROLES } from "./files.js";
import type { E2eOptions } from "./options.js";
import { cleanEarlier, runE2e, type RunParts } from "./run.js";

let argocd: ArgoCd | undefined;

afterEach(async () => {
  await argocd?.stop();
  argocd = undefined;
});

/** An Argo CD that knows nothing of the run's hosts: it reads repositories from the network, as a real one does. */
async function foreign(permissions: Permissions = "all") {
  const running = await startArgoCd({ repositories: "network" });
  argocd = running;
  recordExchanges(running);
  return { running, url: running.url, token: running.addAccount("contributor", { permissions }) };
}

type More = Partial<E2eOptions> & { readonly stopAt?: RegExp };

/** Runs with `act`; returns the exit code and what was printed. */
async function play(
  act: (parts: RunParts) => Promise<number>,
  { url, token }: { readonly url: string; readonly token: string },
  { stopAt, ...more }: More = {},
): Promise<{ readonly code: number; readonly said: string }> {
  const lines: string[] = [];
  const stop = new AbortController();
  const code = await act({
    options: {
      argocd: { url, token, insecure: false },
      git: { host: "127.0.0.1", port: 0, url: undefined },
      hosts: ["hosta"],
      cluster: "https://kubernetes.default.svc",
      project: undefined,
      log: undefined,
      ...more,
    },
    clock: new JumpClock(),
    overrides: { compute: sharedPool(), startGit: startGitElsewhere },
    say(line) {
      lines.push(line);
      if (stopAt?.test(line) === true) stop.abort(new Error("stopped"));
    },
    log: () => undefined,
    stop: stop.signal,
    leave: new AbortController().signal,
  });
  const said = lines.join("\n");
  expect(said).not.toContain(token);
  return { code, said };
}

/** Names of everything in Argo CD and in its cluster. */
async function everything({ running, url, token }: Awaited<ReturnType<typeof foreign>>): Promise<readonly string[]> {
  const answer = await fetch(`${url}/api/v1/projects`, { headers: { authorization: `Bearer ${token}` } });
  const { items } = (await answer.json()) as {
    readonly items: readonly { readonly metadata: { readonly name: string } }[];
  };
  return [
    ...items.map(({ metadata }) => `project ${metadata.name}`),
    ...running.applications().map(({ metadata }) => `application ${metadata.name}`),
    ...running.live().map(({ kind, name }) => `${kind} ${name}`),
  ];
}

const NOTHING = ["project default"];
/** A whole run, on a machine that is busy with others. */
const LONG_MS = 400_000;

test(
  "every step passes against an Argo CD of which only the address and a token are known, and nothing is left in it",
  async () => {
    const argo = await foreign();
    const { code, said } = await play(runE2e, argo, { hosts: ["hosta"] });
    const [first, second, ...rest] = said.replace(/^ {2}ok .*\n/gm, "").split("\n");
    expect(first).toMatch(/^Argo CD v3\.5\.1 at http:\S+; this run is svc-e2e-[0-9a-f]{6}$/);
    const run = first?.slice(-"svc-e2e-000000".length) ?? "";
    expect(second).toMatch(
      new RegExp(`^Argo CD reads from http://127\\.0\\.0\\.1:\\d+ and deploys to the namespace ${run}$`),
    );
    const removed = ROLES.map((role) => `application ${run}-github-${role}`).sort();
    expect(rest).toEqual([
      "",
      "GitHub",
      "",
      `Removed of ${run}: ${[...removed, `application ${run}-namespace`, `project ${run}`].join(", ")}`,
      "",
      "13 steps: 13 ok, 0 failed, 0 skipped",
    ]);
    expect(code).toBe(0);
    expect(await everything(argo)).toEqual(NOTHING);
    expect(argo.running.violations).toEqual([]);
  },
  LONG_MS,
);

test(
  "a step that fails shows svc's comment, those that need it are skipped, the others go on, and nothing is left",
  async () => {
    const argo = await foreign();
    argo.running.addAdmissionRule(({ data }, { name }) =>
      name.endsWith("-plain") && JSON.stringify(data).includes("two") ? "denied by a policy" : undefined,
    );
    const { code, said } = await play(runE2e, argo, { hosts: ["hostb"] });
    expect(said).toMatch(
      /^ {2}FAILED .* a sync deploys the head commit and merges\n {4}svc's comment lacks "✅ succeeded"\n {4}\| /m,
    );
    expect(said).toMatch(/^ {4}\| .*denied by a policy/m);
    expect(said).toMatch(/^ {2}skipped +after the merge .*: it needs "a sync deploys the head commit and merges"$/m);
    expect(said).toMatch(/^ {2}ok .* an application with auto-sync is refused$/m);
    expect(said).toContain("13 steps: 11 ok, 1 failed, 1 skipped");
    expect(code).toBe(1);
    expect(await everything(argo)).toEqual(NOTHING);
  },
  LONG_MS,
);

test("a person who stops the run finds nothing left", async () => {
  const argo = await foreign();
  const { code, said } = await play(runE2e, argo, { stopAt: /^ {2}ok / });
  expect(said).toMatch(/\nFAILED: stopped before the end\n\n1 steps: 1 ok, 0 failed, 0 skipped$/);
  expect(code).toBe(1);
  expect(await everything(argo)).toEqual(NOTHING);
});

test("a git server that Argo CD cannot reach: the sentence names its address and the options, and nothing is left", async () => {
  const argo = await foreign();
  const { code, said } = await play(runE2e, argo, { git: { host: "127.0.0.1", port: 0, url: "http://127.0.0.1:9" } });
  expect(said).toMatch(
    /^FAILED: Argo CD cannot read from the git server of this run, http:\/\/127\.0\.0\.1:9 \(failed to list refs: .*\)\. Let it listen on an address that Argo CD's repo-server reaches: --git-listen HOST:PORT, and --git-url if that has another name there$/m,
  );
  expect(code).toBe(1);
  expect(await everything(argo)).toEqual(NOTHING);
});

test.each<[string, (argo: { readonly url: string; readonly token: string }) => object, RegExp]>([
  [
    "a token that is not valid",
    ({ url }) => ({ argocd: { url, token: "a.b.c", insecure: false } }),
    /^FAILED: Argo CD does not accept the token: invalid session: failed to verify the token\. Make a new one: argocd account generate-token$/m,
  ],
  [
    "nothing at the address",
    ({ token }) => ({ argocd: { url: "http://127.0.0.1:2", token, insecure: false } }),
    /^FAILED: Argo CD at http:\/\/127\.0\.0\.1:2 cannot be reached: ECONNREFUSED; check --argocd, and that this machine reaches it$/m,
  ],
  [
    "an address of the git server that this machine does not have",
    () => ({ git: { host: "192.0.2.1", port: 0, url: undefined } }),
    /^FAILED: the git server cannot listen on 192\.0\.2\.1:0 \(EADDRNOTAVAIL\): check --git-listen$/m,
  ],
])("%s: the run ends with a sentence, and created nothing", async (_name, more, sentence) => {
  const argo = await foreign();
  const { code, said } = await play(runE2e, argo, more(argo));
  expect(said).toMatch(sentence);
  expect(code).toBe(1);
  expect(argo.running.changes).toEqual([]);
  expect(await everything(argo)).toEqual(NOTHING);
});

/** What has a label of the run, or of svc, and is not the run's. */
const NOT_OURS = ["svc-tmp-1-shop", "payments", "svc-e2e-all"];
const RIGHTS = ["get", "create", "sync"].map((action) => ({ resource: "applications", action, object: "*" }));

test("without the right to create a project: the sentence names the right and the option, with which it goes on", async () => {
  const argo = await foreign(RIGHTS);
  expect((await play(runE2e, argo)).said).toMatch(
    /^FAILED: the token may not create a project \(permission denied: projects, create, svc-e2e-[0-9a-f]{6}, .*\)\. Give its account that right, or name an existing project with --project$/m,
  );
  expect(argo.running.applications()).toEqual([]);
});

test("what may not be deleted is named, the next run tells of it, and --clean removes it with svc's temporary Applications", async () => {
  const argo = await foreign(RIGHTS);
  const { code, said } = await play(runE2e, argo, { project: "default", stopAt: /^Argo CD reads/ });
  const [run = "", id = ""] = /svc-e2e-([0-9a-f]{6})/.exec(said) ?? [];
  expect(said).toMatch(
    new RegExp(
      `^LEFT BEHIND: application ${run}-namespace could not be removed: permission denied: applications, delete, `,
      "m",
    ),
  );
  expect(said).toContain("To try it again: npm run e2e -- --clean, with the same --argocd and token");
  expect(code).toBe(1);
  const [plain] = argo.running.applications().filter(({ metadata }) => metadata.name === `${run}-github-plain`);
  for (const name of [`${run}-github-plain`, "shop"]) {
    argo.running.addApplication({
      metadata: {
        name: `svc-tmp-1-${name}`,
        labels: { "svc.dev/temporary": "true" },
        annotations: { "svc.dev/for": name, "argocd.argoproj.io/skip-reconcile": "true" },
      },
      spec: plain?.spec,
    });
  }
  argo.running.addApplication({ metadata: { name: "payments", labels: { "svc.dev/e2e": id } }, spec: plain?.spec });
  argo.running.addApplication({ metadata: { name: "svc-e2e-all", labels: { "svc.dev/e2e": "" } }, spec: plain?.spec });
  const admin = { url: argo.url, token: argo.running.addAccount("admin", { permissions: "all" }) };
  const again = await play(runE2e, admin, { git: { host: "192.0.2.1", port: 0, url: undefined } });
  expect(again.said).toContain(`Of earlier runs there is still: ${run}. To remove it: --clean`);
  const cleaned = await play(cleanEarlier, admin);
  expect(cleaned.said).toMatch(new RegExp(`^Removed of ${run}: application .*svc-tmp-1-${run}-github-plain.*`, "m"));
  expect(cleaned.code).toBe(0);
  expect(argo.running.applications().map(({ metadata }) => metadata.name)).toEqual(NOT_OURS);
  expect(argo.running.live()).toEqual([]);
  expect((await play(cleanEarlier, admin)).said).toBe("There is nothing of an earlier run.");
});
