import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, expect, test } from "@jest/globals";
import { mainProgram } from "../../compiled/compiled.js";
import { startReceiver } from "./otlp-receiver.js";

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));
const cleanups: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

/** The program with these variables; resolves when it listens. */
async function startProgram(env: Readonly<Record<string, string>>) {
  const folder = await mkdtemp(join(tmpdir(), "svc-traces-"));
  cleanups.push(() => rm(folder, { recursive: true, force: true }));
  const file = join(folder, "svc.yaml");
  const config = {
    server: { host: "127.0.0.1", port: 0 },
    deployer: { server_url: "http://127.0.0.1:9", token: "token-of-the-program" },
    hostb: { url: "http://127.0.0.1:9", token: "glpat-of-the-program", webhook_secret: "hook-of-the-program" },
  };
  await writeFile(file, JSON.stringify(config));
  const child: ChildProcess = spawn(process.execPath, [...mainProgram(), "--config", file], {
    cwd: ROOT,
    env: { PATH: process.env.PATH ?? "", ...env },
    stdio: ["ignore", "pipe", "inherit"],
  });
  cleanups.push(async () => {
    child.kill("SIGKILL");
  });
  let output = "";
  const url = await new Promise<string>((resolve, reject) => {
    child.once("exit", () => reject(new Error(`the program ended: ${output}`)));
    child.stdout?.on("data", (chunk: Buffer) => {
      output += chunk.toString("utf8");
      const found = /"url":"(http:[^"]+)"[^\n]*"msg":"listening"/.exec(output);
      if (found?.[1] !== undefined) resolve(found[1]);
    });
  });
  return {
    url,
    output: () => output,
    async stop() {
      const ended = once(child, "exit");
      child.kill("SIGTERM");
      await ended;
    },
  };
}

test("the program sends its traces where the standard variable says, the last ones when it ends", async () => {
  const receiver = await startReceiver();
  cleanups.push(() => receiver.stop());
  const program = await startProgram({
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${receiver.url}/v1/traces`,
    OTEL_EXPORTER_OTLP_PROTOCOL: "http/json",
    OTEL_SERVICE_NAME: "svc-of-the-test",
    OTEL_BSP_SCHEDULE_DELAY: "60000",
  });
  await fetch(`${program.url}/webhook/hostb`, { method: "POST", body: "{}" });
  await program.stop();
  expect(receiver.spans).toMatchObject([
    { name: "POST /webhook/hostb", attributes: { "http.response.status_code": expect.anything() } },
  ]);
  expect(String(receiver.spans[0]?.attributes["http.response.status_code"])).toBe("401");
  expect(receiver.resources[0]).toMatchObject({ "service.name": "svc-of-the-test" });
});

test("an unreachable collector neither stops the service nor delays its end, and is logged at least once", async () => {
  const program = await startProgram({ OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:9" });
  expect((await fetch(`${program.url}/webhook/hostb`, { method: "POST", body: "{}" })).status).toBe(401);
  const begin = performance.now();
  await program.stop();
  expect(performance.now() - begin).toBeLessThan(15_000);
  expect(program.output()).toMatch(/OpenTelemetry reported a problem|could not send the last traces/);
});

test("without the variables OpenTelemetry's SDK is not loaded: one file imports it, and only `main` that file, on demand", async () => {
  const names = (await readdir(join(ROOT, "src"), { recursive: true })).filter((name) => name.endsWith(".ts"));
  const texts = await Promise.all(
    names.map(async (name) => ({ name, text: await readFile(join(ROOT, "src", name), "utf8") })),
  );
  const importing = (pattern: RegExp) => texts.filter(({ text }) => pattern.test(text)).map(({ name }) => name);
  expect(importing(/from "@opentelemetry\/(?!api")/)).toEqual(["observe/tracing/start-tracing.ts"]);
  expect(importing(/^import (?!type)[^;]*from "[^"]*start-tracing\.js"/m)).toEqual([]);
  expect(importing(/await import\("[^"]*start-tracing\.js"\)/)).toEqual(["main.ts"]);
});
