import { writeFileSync } from "node:fs";
import { generatedFiles, ROOT } from "./generated-files.js";

for (const { path, text } of generatedFiles()) {
  writeFileSync(`${ROOT}${path}`, text);
  process.stdout.write(`${path}\n`);
}
