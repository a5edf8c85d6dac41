import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createExchangeCheck, sentUnnamed } from "./check-exchange.js";
import { correctionTexts } from "./corrections.js";
import { readSwaggerFile, SwaggerUnusable, type Swagger } from "./read-swagger.js";
import { readRecording, RECORDING_FOLDER } from "./recording.js";
import { reportReplay } from "./replay-report.js";

const USAGE = `Usage: npm run contract -- SWAGGER.json [PATTERN...]
Replays the scenarios, or those whose files match a pattern, and checks every exchange with Argo CD against its swagger file.`;
const ROOT = fileURLToPath(new URL("../..", import.meta.url));

async function main([file, ...patterns]: readonly string[]): Promise<boolean> {
  if (file === undefined || file.startsWith("-")) {
    console.error(USAGE);
    return false;
  }
  const swagger = readSwaggerFile(file);
  console.log("Corrections of the swagger file, and no others:");
  for (const text of correctionTexts) console.log(`- ${text}`);
  console.log(
    "Unknown members are violations in requests and answers, but for these which Argo CD is known to answer:",
  );
  for (const [operation, pointer] of sentUnnamed) console.log(`- ${operation} ${pointer}`);
  const folder = mkdtempSync(join(tmpdir(), "svc-contract-"));
  try {
    const scenariosPassed = await runScenarios(folder, patterns);
    const reported = report(swagger, folder, patterns);
    if (!scenariosPassed) console.log("FAILED: not every scenario passed");
    return reported && scenariosPassed;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Through Jest, as `npm test` runs them; whether all passed. */
async function runScenarios(folder: string, patterns: readonly string[]): Promise<boolean> {
  const jest = ["--experimental-vm-modules", "--disable-warning=ExperimentalWarning", "node_modules/jest/bin/jest.js"];
  const which = patterns.length === 0 ? ["test/scenarios/"] : patterns;
  const child = spawn(process.execPath, [...jest, ...which], {
    cwd: ROOT,
    env: { ...process.env, [RECORDING_FOLDER]: folder },
    stdio: "inherit",
  });
  // Whoever stops the replay stops the scenarios; the recording is removed all the same.
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => child.kill(signal));
  const [code] = (await once(child, "exit")) as [number | null];
  return code === 0;
}

function report(swagger: Swagger, folder: string, patterns: readonly string[]): boolean {
  const check = createExchangeCheck(swagger);
  const { lines, passed } = reportReplay(readRecording(folder).map(check), { whole: patterns.length === 0 });
  console.log(`\n${lines.join("\n")}`);
  return passed;
}

try {
  process.exitCode = (await main(process.argv.slice(2))) ? 0 : 1;
} catch (error) {
  if (!(error instanceof SwaggerUnusable)) throw error;
  console.error(error.message);
  process.exitCode = 1;
}
