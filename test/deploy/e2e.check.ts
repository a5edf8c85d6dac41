import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { afterEach, expect, test } from "@jest/globals";
import { startArgoCd, type ArgoCd } from "../../sandbox/argocd/argocd.js";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

let argocd: ArgoCd | undefined;
afterEach(() => argocd?.stop());

/** `npm run e2e` as another process, which knows of Argo CD only what its arguments and ARGOCD_TOKEN say. */
function e2e(args: readonly string[], token: string) {
  const env = { ...process.env, ARGOCD_TOKEN: token };
  return spawn(process.execPath, ["--import", "tsx", "test/e2e/main.ts", ...args], { cwd: ROOT, env });
}

async function exitOf(child: ReturnType<typeof e2e>): Promise<number | null> {
  const [code] = (await once(child, "exit")) as [number | null];
  return code;
}

async function foreign() {
  argocd = await startArgoCd({ repositories: "network" });
  return { running: argocd, token: argocd.addAccount("contributor", { permissions: "all" }) };
}

test("the end-to-end run passes with an address and a token alone, and leaves nothing", async () => {
  const { running, token } = await foreign();
  const child = e2e(["--argocd", running.url, "--host", "github"], token);
  const [said, complaints, code] = await Promise.all([text(child.stdout), text(child.stderr), exitOf(child)]);
  expect([code, complaints]).toEqual([0, ""]);
  expect(said).toContain("13 steps: 13 ok, 0 failed, 0 skipped");
  expect([running.applications(), running.live(), running.violations]).toEqual([[], [], []]);
}, 400_000);

test("Ctrl-C ends it with code 130, and leaves nothing", async () => {
  const { running, token } = await foreign();
  const child = e2e(["--argocd", running.url, "--host", "gitlab"], token);
  let stopped = false;
  child.stdout.on("data", (chunk: Buffer) => {
    if (stopped || !chunk.includes("  ok ")) return;
    stopped = true;
    child.kill("SIGINT");
  });
  const [said, code] = await Promise.all([text(child.stdout), exitOf(child)]);
  expect(said).toContain("FAILED: stopped before the end");
  expect(code).toBe(130);
  expect([running.applications(), running.live()]).toEqual([[], []]);
}, 200_000);

test("wrong arguments end it with code 2 and the usage", async () => {
  const child = e2e([], "token");
  const [said, code] = await Promise.all([text(child.stderr), exitOf(child)]);
  expect(said).toMatch(/^--argocd is missing\n\nUsage: npm run e2e /);
  expect(code).toBe(2);
});
