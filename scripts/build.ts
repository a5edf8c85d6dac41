import { copyFileSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { build as bundleWith, type Plugin } from "esbuild";
import { bundledPackages } from "./bundled-packages.js";
import { sbomOf } from "./sbom.js";
import { thirdPartyLicenses } from "./third-party-licenses.js";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const DIST = join(ROOT, "dist");
const { values } = parseArgs({ options: { outdir: { type: "string" } } });
/** What reads dist/ meanwhile finds the earlier build until the new one is complete. */
const TARGET = values.outdir === undefined ? `${DIST}-new` : resolve(values.outdir);

/** Packages that are not ES modules load Node's own by this function, which an ES module does not have. */
const REQUIRE =
  'import { createRequire as requireFrom } from "node:module"; const require = requireFrom(import.meta.url);';

/**
 * Character sets that no request of ours may have, half a megabyte of tables: express takes JSON in UTF alone, forms in
 * ISO-8859-1 as well.
 */
const withoutCharacterSets: Plugin = {
  name: "without character sets",
  setup(build) {
    build.onResolve({ filter: /^\.\/tables\/[^/]+\.json$/ }, ({ path, importer }) =>
      importer.includes("/iconv-lite/") ? { path, namespace: "no-table" } : undefined,
    );
    build.onLoad({ filter: /./, namespace: "no-table" }, () => ({
      contents: 'throw new Error("this character set is not supported")',
    }));
  },
};

/** Connections are all that svc uses of undici; the rest is a cache, mocks, and what Node.js has itself. */
const undiciConnections: Plugin = {
  name: "undici's connections",
  setup(build) {
    build.onResolve({ filter: /^undici$/ }, () => ({ path: "undici", namespace: "connections" }));
    build.onLoad({ filter: /./, namespace: "connections" }, () => ({
      resolveDir: ROOT,
      // The first makes the requests of `fetch` use these connections as well, as the whole package does.
      contents: `require("undici/lib/global.js");
        exports.Agent = require("undici/lib/dispatcher/agent.js");
        exports.EnvHttpProxyAgent = require("undici/lib/dispatcher/env-http-proxy-agent.js");`,
    }));
  },
};

/**
 * Bundles the service and the packages that it uses into dist/, or a new `--outdir`, as `npm start`, the image and the npm package run it. What
 * is loaded on demand keeps a file of its own. Types are not checked here, but by `npm run check`.
 */
async function bundle(): Promise<void> {
  if (values.outdir === undefined) rmSync(TARGET, { recursive: true, force: true });
  const { metafile } = await bundleWith({
    absWorkingDir: ROOT,
    entryPoints: {
      main: "src/main.ts",
      // As `worker-pool.ts` names it.
      entry: "src/workers/entry.ts",
      healthcheck: "src/config/healthcheck.ts",
    },
    outdir: TARGET,
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "node",
    target: "node20.19",
    banner: { js: REQUIRE },
    // Names stay and lines stay short, so that a stack trace can be read without a source map.
    minifyWhitespace: true,
    lineLimit: 160,
    legalComments: "none",
    plugins: [withoutCharacterSets, undiciConnections],
    metafile: true,
  });
  placeScripts();
  const packages = bundledPackages(ROOT, Object.keys(metafile.inputs));
  writeFileSync(join(TARGET, "THIRD-PARTY-LICENSES.txt"), thirdPartyLicenses(ROOT, packages));
  writeFileSync(join(TARGET, "sbom.cyclonedx.json"), sbomOf(ROOT, packages));
  if (values.outdir !== undefined) return;
  rmSync(DIST, { recursive: true, force: true });
  renameSync(TARGET, DIST);
}

/** The scripts for Redis, beside the code that reads them. */
function placeScripts(): void {
  const scripts = readdirSync(join(ROOT, "src"), { recursive: true, encoding: "utf8" }).filter((name) =>
    name.endsWith(".lua"),
  );
  const names = scripts.map((path) => basename(path));
  const twice = names.filter((name, index) => names.indexOf(name) !== index);
  if (twice.length > 0) throw new Error(`two Lua scripts have the same name: ${twice.join(", ")}`);
  for (const path of scripts) copyFileSync(join(ROOT, "src", path), join(TARGET, basename(path)));
}

await bundle();
