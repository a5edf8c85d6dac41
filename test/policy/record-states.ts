/**
 * Plays conversations on both code hosts over the in-memory ports, and writes the states that they come by to
 * `test/policy/states`: `npx tsx test/policy/record-states.ts`. The same source writes the same bytes. Then rewrite what
 * svc makes of them, and read the difference: `UPDATE_GOLDEN=1 npm test -- test/policy/states`.
 */
import { mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { format } from "oxfmt";
import type { Facts } from "../../src/core/policy/facts.js";
import { HOST_IDS } from "../../src/names.js";
import { playChangeRequests } from "./conversations/change-request.js";
import { playDeployments } from "./conversations/deployments.js";
import { playOutages } from "./conversations/outages.js";
import { playRandomly } from "./conversations/random.js";
import { playRenders } from "./conversations/renders.js";
import { playRights } from "./conversations/rights.js";
import { Recorder } from "./recorder.js";
import { sortedJson } from "./sorted-json.js";

const FOLDER = fileURLToPath(new URL("./states/", import.meta.url));

mkdirSync(FOLDER, { recursive: true });
for (const file of readdirSync(FOLDER)) if (file.endsWith(".json")) rmSync(`${FOLDER}${file}`);
for (const hostId of HOST_IDS) {
  const recorder = new Recorder(hostId);
  for (const play of [playChangeRequests, playRights, playDeployments, playRenders, playOutages, playRandomly]) {
    await play(recorder);
  }
  for (const [name, facts] of recorder.states) await write(`${name}.${hostId}.json`, facts);
  process.stdout.write(`${hostId}: ${recorder.states.size} states\n${recorder.repeated.join("\n")}\n`);
}

async function write(file: string, facts: Facts): Promise<void> {
  const { code } = await format(file, JSON.stringify(sortedJson(facts)), { printWidth: 120 });
  writeFileSync(`${FOLDER}${file}`, code);
}
