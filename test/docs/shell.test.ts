import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "@jest/globals";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const read = (path: string) => readFileSync(`${ROOT}${path}`, "utf8");
const docs = readdirSync(`${ROOT}docs`).flatMap((name) => (name.endsWith(".md") ? [`docs/${name}`] : []));
const PAGES = ["README.md", "CONTRIBUTING.md", ...docs];

test.each(PAGES)("the npm scripts that %s names exist", (page) => {
  const manifest: unknown = JSON.parse(read("package.json"));
  const named = [...read(page).matchAll(/\bnpm run ([a-z][a-z0-9:]*)/g)].map(([, name = ""]) => name);
  for (const name of named) expect(manifest).toHaveProperty(["scripts", name]);
});

const GUIDE = ["docs/installation.md", "docs/without-kubernetes.md", "docs/trial.md"];

/** The blocks of the guide have tests of their own, and those of the other two are what `.ci/run` does. */
test.each(docs.filter((page) => !GUIDE.includes(page)))("%s says what its commands need", (page) => {
  const unmarked = read(page).match(/(?<!<!-- needs a cluster -->\n)^```sh\n[^]*?^```/gm) ?? [];
  expect(unmarked).toEqual([]);
});
