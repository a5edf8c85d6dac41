import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { BundledPackage, Manifest } from "./bundled-packages.js";

type Locked = Readonly<Record<string, { readonly version?: string; readonly integrity?: string } | undefined>>;

/**
 * The list of the packages in the bundle, as CycloneDX. `npm sbom` cannot make it: it leaves out what is a development
 * dependency too. The same packages give the same text, so it has no time and no number of its own.
 * @throws {Error} if a package is not the one in package-lock.json
 */
export function sbomOf(root: string, bundled: readonly BundledPackage[]): string {
  const { packages } = readJson(root, "package-lock.json") as { readonly packages: Locked };
  const product = readJson(root, "package.json") as Manifest;
  const subject = `${product.name}@${product.version}`;
  const components = new Map<string, object>();
  for (const { folder, manifest } of bundled) {
    const { name, version, license } = manifest;
    const purl = `pkg:npm/${name.replace("@", "%40")}@${version}`;
    const { version: locked, integrity } = packages[folder] ?? {};
    if (locked !== version) throw new Error(`${folder} is version ${version}, not ${String(locked)}; run npm ci`);
    components.set(purl, {
      type: "library",
      "bom-ref": purl,
      name,
      version,
      purl,
      scope: "required",
      ...(license === undefined ? {} : { licenses: [{ expression: license }] }),
      ...(integrity === undefined ? {} : { hashes: [hashOf(integrity)] }),
    });
  }
  const sbom = {
    $schema: "http://cyclonedx.org/schema/bom-1.6.schema.json",
    bomFormat: "CycloneDX",
    specVersion: "1.6",
    version: 1,
    metadata: {
      component: {
        type: "application",
        "bom-ref": subject,
        name: product.name,
        version: product.version,
        licenses: [{ expression: product.license }],
      },
    },
    components: [...components.values()],
    // All of them are inside of the bundle; which one asked for which does not matter there.
    compositions: [{ aggregate: "complete", assemblies: [subject, ...components.keys()] }],
  };
  return `${JSON.stringify(sbom, undefined, 2)}\n`;
}

/** Of a line such as `sha512-…`, in hexadecimal digits. */
function hashOf(integrity: string): object {
  const [, bits = "", digest = ""] = /^sha(\d+)-(\S+)/.exec(integrity) ?? [];
  return { alg: `SHA-${bits}`, content: Buffer.from(digest, "base64").toString("hex") };
}

function readJson(root: string, file: string): unknown {
  return JSON.parse(readFileSync(join(root, file), "utf8"));
}
