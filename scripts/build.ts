import { copyFileSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { build as bundleWith, type BuildOptions, type Plugin } from "esbuild";
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
      contents: `exports.getGlobalDispatcher = require("undici/lib/global.js").getGlobalDispatcher;
        exports.Agent = require("undici/lib/dispatcher/agent.js");
        exports.EnvHttpProxyAgent = require("undici/lib/dispatcher/env-http-proxy-agent.js");`,
    }));
  },
};

/**
 * Each entry is bundled on its own. Bundled together, the modules that they share would be split into half as many files again, and
 * finding files is the costliest part of a start.
 */
const ENTRIES = {
  main: "src/main.ts",
  // As `worker-pool.ts` names it.
  entry: "src/workers/entry.ts",
  healthcheck: "src/config/healthcheck.ts",
};

/**
 * Packages of which a start uses nothing. Each has a file of its own that is read when something of it is used first, since
 * what V8 has read takes memory, used or not.
 */
const ON_DEMAND = ["markdown-it", "openid-client", "pino-pretty", "re2js"];

/** Replaces each of these packages by a stand-in, which loads it when a member is read or the default export is called. */
const loadedOnDemand: Plugin = {
  name: "packages on demand",
  setup(build) {
    build.onResolve({ filter: new RegExp(`^(?:${ON_DEMAND.join("|")})$`) }, ({ path }) => ({
      path,
      namespace: "on-demand",
    }));
    build.onLoad({ filter: /./, namespace: "on-demand" }, async ({ path }) => {
      const members = (await import(path)) as Readonly<Record<string, unknown>>;
      if (!["function", "undefined"].includes(typeof members.default)) throw new Error(`${path} exports no function`);
      // From 23 on, Node exports a CommonJS module by this name as well. https://nodejs.org/api/esm.html#commonjs-namespaces
      const names = Object.keys(members).filter((name) => !["default", "module.exports"].includes(name));
      const getters = names.map((name) => `${name}: { get: () => load().${name}, enumerable: true }`);
      return {
        contents: `const load = () => require("./${path}.cjs");
          module.exports = Object.defineProperties(function (...args) {
            return new.target ? new (load().default)(...args) : load().default(...args);
          }, { ${getters.join(", ")} });`,
      };
    });
    build.onResolve({ filter: /\.cjs$/, namespace: "on-demand" }, ({ path }) => ({ path, external: true }));
  },
};

const OPTIONS = {
  absWorkingDir: ROOT,
  outdir: TARGET,
  bundle: true,
  platform: "node",
  target: "node20.19",
  // Names stay and lines stay short, so that a stack trace can be read without a source map.
  minifyWhitespace: true,
  lineLimit: 160,
  legalComments: "none",
  metafile: true,
} satisfies BuildOptions;

/** A package with what it uses, as a file that `require` reads. */
async function bundleOnDemand(name: string) {
  const members = (await import(name)) as object;
  const contents = `export * from "${name}";${"default" in members ? ` export { default } from "${name}";` : ""}`;
  return bundleWith({
    ...OPTIONS,
    stdin: { contents, resolveDir: ROOT, sourcefile: "on-demand" },
    outdir: undefined,
    outfile: join(TARGET, `${name}.cjs`),
    format: "cjs",
  });
}

/**
 * Bundles the service and the packages that it uses into dist/, or a new `--outdir`, as `npm start`, the image and the npm package run it. What
 * is loaded on demand keeps a file of its own. Types are not checked here, but by `npm run check`.
 */
async function bundle(): Promise<void> {
  if (values.outdir === undefined) rmSync(TARGET, { recursive: true, force: true });
  const bundles = await Promise.all(
    Object.entries(ENTRIES).map(([name, path]) =>
      bundleWith({
        ...OPTIONS,
        entryPoints: { [name]: path },
        splitting: true,
        format: "esm",
        banner: { js: REQUIRE },
        plugins: [withoutCharacterSets, undiciConnections, loadedOnDemand],
      }),
    ),
  );
  const onDemand = await Promise.all(ON_DEMAND.map(bundleOnDemand));
  escapeRegularExpressions();
  placeScripts();
  const inputs = [...bundles, ...onDemand].flatMap(({ metafile }) => Object.keys(metafile.inputs));
  const packages = bundledPackages(ROOT, inputs);
  writeFileSync(join(TARGET, "THIRD-PARTY-LICENSES.txt"), thirdPartyLicenses(ROOT, packages));
  writeFileSync(join(TARGET, "sbom.cyclonedx.json"), sbomOf(ROOT, packages));
  if (values.outdir !== undefined) return;
  rmSync(DIST, { recursive: true, force: true });
  renameSync(TARGET, DIST);
}

/**
 * V8 keeps a source in two bytes per character as soon as one of them is beyond Latin-1. esbuild escapes those in texts and
 * leaves them in regular expressions.
 */
function escapeRegularExpressions(): void {
  for (const name of readdirSync(TARGET).filter((each) => /\.c?js$/.test(each))) {
    const path = join(TARGET, name);
    const escaped = (letter: string) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`;
    writeFileSync(path, readFileSync(path, "utf8").replace(/[\u0100-\uffff]/g, escaped));
  }
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
