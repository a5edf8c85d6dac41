import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { z } from "zod";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "svc-sbom-"));
const text = (...path: readonly string[]) => readFileSync(join(folder, ...path), "utf8");
const run = (args: readonly string[]) => execFileSync(process.execPath, args, { cwd: ROOT, stdio: "pipe" });
afterAll(() => rmSync(folder, { recursive: true }));

/** What CycloneDX 1.6 requires of the members that we write, and what scanners need to find a package. */
const Sbom = z.strictObject({
  $schema: z.literal("http://cyclonedx.org/schema/bom-1.6.schema.json"),
  bomFormat: z.literal("CycloneDX"),
  specVersion: z.literal("1.6"),
  version: z.int().min(1),
  metadata: z.strictObject({
    component: z.strictObject({
      type: z.literal("application"),
      "bom-ref": z.string().min(1),
      name: z.literal("svc"),
      version: z.string().min(1),
      licenses: z.tuple([z.strictObject({ expression: z.literal("Apache-2.0") })]),
    }),
  }),
  components: z.array(
    z.strictObject({
      type: z.literal("library"),
      "bom-ref": z.string().min(1),
      name: z.string().min(1),
      version: z.string().regex(/^\d+\.\d+\.\d+/),
      purl: z.string().regex(/^pkg:npm\/(%40[\w.-]+\/)?[\w.-]+@\d+\.\d+\.\d+/),
      scope: z.literal("required"),
      // At most one: an expression stands alone.
      licenses: z.tuple([z.strictObject({ expression: z.string().regex(/^[\w.() -]+$/) })]),
      hashes: z.tuple([
        z.strictObject({
          alg: z.enum(["SHA-256", "SHA-384", "SHA-512"]),
          content: z.string().regex(/^([0-9a-f]{2})+$/),
        }),
      ]),
    }),
  ),
  compositions: z.tuple([z.strictObject({ aggregate: z.literal("complete"), assemblies: z.array(z.string()) })]),
});

beforeAll(() => {
  run(["--import", "tsx", "scripts/build.ts", "--outdir", join(folder, "dist")]);
});

test("the SBOM lists every package of which esbuild bundles a file, and no other", () => {
  const entries = ["src/main.ts", "src/workers/entry.ts", "src/config/healthcheck.ts"];
  const metafile = join(folder, "metafile.json");
  const options = ["--bundle", "--splitting", "--format=esm", "--platform=node", "--log-level=error"];
  const out = [`--outdir=${join(folder, "out")}`, `--metafile=${metafile}`];
  execFileSync(join(ROOT, "node_modules/esbuild/bin/esbuild"), [...entries, ...options, ...out], { cwd: ROOT });
  const { inputs } = JSON.parse(readFileSync(metafile, "utf8")) as {
    readonly inputs: Readonly<Record<string, object>>;
  };
  const folders = Object.keys(inputs).flatMap((file) => /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file) ?? []);
  const bundled = folders.map((each) => {
    const { name, version } = JSON.parse(readFileSync(join(ROOT, each, "package.json"), "utf8")) as Package;
    return `${name} ${version}`;
  });
  expect(bundled).toEqual(expect.arrayContaining([expect.stringMatching(/^yaml /)]));
  const { components } = Sbom.parse(JSON.parse(text("dist", "sbom.cyclonedx.json")));
  const listed = components.map(({ name, version }) => `${name} ${version}`);
  expect(listed.length).toBeGreaterThan(200);
  expect(listed).toEqual([...new Set(listed)]);
  expect(new Set(listed)).toEqual(new Set(bundled));
});

interface Package {
  readonly name: string;
  readonly version: string;
}

test("the SBOM has the form that CycloneDX 1.6 requires, with the digest of each package from the lock file", () => {
  const sbom = Sbom.parse(JSON.parse(text("dist", "sbom.cyclonedx.json")));
  const { metadata, components, compositions } = sbom;
  const references = [metadata.component["bom-ref"], ...components.map((each) => each["bom-ref"])];
  expect(references).toEqual([...new Set(references)]);
  expect(compositions[0].assemblies).toEqual(references);
  const { packages } = JSON.parse(readFileSync(`${ROOT}package-lock.json`, "utf8")) as {
    readonly packages: Readonly<Record<string, { readonly version: string; readonly integrity: string }>>;
  };
  const yaml = components.find(({ name }) => name === "yaml");
  const { version, integrity } = packages["node_modules/yaml"] ?? { version: "", integrity: "" };
  expect(yaml?.purl).toBe(`pkg:npm/yaml@${version}`);
  const content = yaml?.hashes[0].content ?? "";
  expect(`sha512-${Buffer.from(content, "hex").toString("base64")}`).toBe(integrity);
});

test("the licences name the same packages as the SBOM", () => {
  const licences = text("dist", "THIRD-PARTY-LICENSES.txt").split("\n");
  const { components } = Sbom.parse(JSON.parse(text("dist", "sbom.cyclonedx.json")));
  expect(components.filter(({ name, version }) => !licences.includes(`${name} ${version}`))).toEqual([]);
});
