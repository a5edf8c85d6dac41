import { execFileSync, spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { isDeepStrictEqual } from "node:util";
import * as fc from "fast-check";
import { YamlRefused } from "../../src/config/bounded-yaml.js";
import { readKubernetesYaml } from "../../src/core/detect/yaml/kubernetes-yaml.js";
import { hostileYaml } from "./hostile-yaml.js";

/**
 * Compares svc's reader of manifests with Kubernetes' own parser, which Go builds: `npm run check:yaml`, with
 * `-- --seed 7 --runs 100000` for other texts. Without Go there is nothing to compare with.
 */
const HERE = fileURLToPath(new URL(".", import.meta.url));
const ROWS = JSON.parse(
  readFileSync(new URL("../fixtures/kubernetes-yaml.json", import.meta.url), "utf8"),
) as readonly {
  readonly yaml: string;
}[];

type Read = { readonly json: unknown } | { readonly error: string };

function readByKubernetes(texts: readonly string[]): readonly Read[] {
  const input = texts.map((text) => `${JSON.stringify(text)}\n`).join("");
  const options = { cwd: HERE, input, encoding: "utf8", maxBuffer: 1024 ** 3 } as const;
  const lines = execFileSync("go", ["run", "."], options).trimEnd().split("\n");
  return lines.map((line) => JSON.parse(line) as Read);
}

function readBySvc(text: string): Read {
  try {
    return { json: readKubernetesYaml(text)?.value ?? null };
  } catch (error) {
    if (error instanceof YamlRefused) return { error: error.reason };
    throw error;
  }
}

/** What svc refuses although the parser reads it (docs/adr/0019-kubernetes-yaml.md). */
function isKnown(text: string, svc: Read): boolean {
  if (!("error" in svc)) return false;
  return svc.error === "collection-key" || (svc.error === "syntax" && text.includes("\ufeff", 1));
}

function option(name: string, otherwise: number): number {
  const at = process.argv.indexOf(`--${name}`);
  return at === -1 ? otherwise : Number(process.argv[at + 1]);
}

function main(): void {
  if (spawnSync("go", ["version"]).status !== 0) {
    process.stdout.write("Skipped the comparison with Kubernetes' YAML parser: Go is not installed.\n");
    return;
  }
  const [seed, numRuns] = [option("seed", 1), option("runs", 20_000)];
  const rows = ROWS.map(({ yaml }) => yaml);
  const generated = fc.sample(hostileYaml(rows), { seed, numRuns });
  const texts = [...rows, ...generated];
  const read = readByKubernetes(texts);
  const different = texts.flatMap((text, index) => {
    const [kubernetes, svc] = [read[index], readBySvc(text)];
    if (kubernetes === undefined) return [`${JSON.stringify(text)}: Go gave no answer`];
    if ("error" in kubernetes) return "error" in svc ? [] : [`${JSON.stringify(text)}: ${kubernetes.error}`];
    const same = "json" in svc ? isDeepStrictEqual(svc.json, kubernetes.json) : isKnown(text, svc);
    return same ? [] : [[text, kubernetes, svc].map((one) => JSON.stringify(one)).join("\n  ")];
  });
  for (const one of different.slice(0, 20)) process.stdout.write(`${one}\n`);
  const known = texts.filter(
    (text, index) => read[index] !== undefined && "json" in read[index] && isKnown(text, readBySvc(text)),
  );
  process.stdout.write(
    `${texts.length} texts (seed ${seed}), ${different.length} read differently, ${known.length} refused as ADR 19 says.\n`,
  );
  process.exitCode = different.length === 0 ? 0 : 1;
}

main();
