import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { BundledPackage, Manifest } from "./bundled-packages.js";

const LICENSE_FILE = /^(?:licen[cs]e|copying|notice)(?:[.-].*)?$/i;

/** The licences of these packages below `root`; what several packages share stands there once. */
export function thirdPartyLicenses(root: string, bundled: readonly BundledPackage[]): string {
  const packagesOf = new Map<string, Set<string>>();
  for (const { folder, manifest } of bundled) {
    const text = licenseOf(join(root, folder), manifest);
    const packages = packagesOf.get(text) ?? new Set();
    packagesOf.set(text, packages.add(`${manifest.name} ${manifest.version}`));
  }
  const sections = [...packagesOf].map(([text, packages]) => `${[...packages].sort().join("\n")}\n\n${text}\n`);
  const introduction = "svc contains the packages below, under the licences that follow their names.\n";
  return [introduction, ...sections.sort()].join(`\n${"-".repeat(80)}\n\n`);
}

/** From the package's files, or else from the end of its README; at least whose it is and which licence its manifest names. */
function licenseOf(folder: string, { name, license, author, repository }: Manifest): string {
  const names = readdirSync(folder).sort();
  const read = (file: string) => readFileSync(join(folder, file), "utf8").replaceAll("\r", "").trim();
  const texts = names.filter((file) => LICENSE_FILE.test(file)).map(read);
  if (texts.length > 0) return texts.join("\n\n");
  const readme = names.find((file) => /^readme/i.test(file));
  const inReadme = readme === undefined ? undefined : /^#+ *licen[cs]e\s+(.{200,})/ims.exec(read(readme))?.[1];
  if (inReadme !== undefined) return inReadme;
  if (license === undefined) throw new Error(`${name} names no licence`);
  const owner = typeof author === "object" ? author.name : author;
  const source = typeof repository === "object" ? repository.url : repository;
  return [`Licence: ${license}`, ...(owner === undefined ? [] : [`By ${owner}`]), source ?? ""].join("\n").trim();
}
