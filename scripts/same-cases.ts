import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { z } from "zod";
import { ROOT } from "./generated-files.js";

// Proves that `npm test` leaves out no case: what `npm run test:nightly` has beyond it is a second host of a case, or
// stands in a file that is named `.nightly`. Lists the names without running the tests.
//   npm run test:cases
//   npm run test:cases -- test/scenarios

const report = z.object({
  success: z.boolean(),
  testResults: z.array(
    z.object({ name: z.string(), message: z.string(), assertionResults: z.array(z.object({ fullName: z.string() })) }),
  ),
});

/** The full names of all tests of a pipeline, each behind its file. */
function casesOf(environment: NodeJS.ProcessEnv): ReadonlySet<string> {
  const folder = mkdtempSync(join(tmpdir(), "svc-cases-"));
  try {
    const output = join(folder, "cases.json");
    const { stderr } = spawnSync(
      "npm",
      ["test", "--silent", "--", "--json", `--outputFile=${output}`, ...process.argv.slice(2)],
      {
        cwd: ROOT,
        encoding: "utf8",
        env: { ...process.env, SVC_CASES: "1", ...environment },
      },
    );
    const { success, testResults } = report.parse(JSON.parse(readFileSync(output, "utf8")));
    if (!success) throw new Error(`files that could not be read:\n${stderr}`);
    return new Set(
      testResults.flatMap(({ name, assertionResults }) =>
        assertionResults.map(({ fullName }) => `${relative(ROOT, name)}: ${fullName}`),
      ),
    );
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const withoutHost = (name: string) => name.replace(/\bhost[ab]\b/g, "HOST");
const isNightly = (name: string) => /^[^:]+\.nightly\.test\.ts:/.test(name);

const daily = casesOf({ SVC_NIGHTLY: "" });
const nightly = casesOf({ SVC_NIGHTLY: "1" });
const told = new Set([...daily].map(withoutHost));
const lost = [...nightly].filter((name) => !isNightly(name) && !told.has(withoutHost(name)));
const strange = [...daily].filter((name) => !nightly.has(name));
const inFiles = [...nightly].filter(isNightly).length;
const secondHosts = nightly.size - daily.size - inFiles;
process.stdout.write(
  `npm test: ${daily.size} cases; nightly: ${nightly.size}, ${secondHosts} of them for a second host, ${inFiles} in nightly files\n`,
);
for (const name of lost) process.stdout.write(`only in the nightly: ${name}\n`);
for (const name of strange) process.stdout.write(`not in the nightly: ${name}\n`);
if (daily.size === 0 || lost.length > 0 || strange.length > 0) process.exitCode = 1;
