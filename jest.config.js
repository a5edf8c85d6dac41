import { setFlagsFromString } from "node:v8";

// Most code of a test file runs only a few times, so that V8 had better optimise later. Node.js 22 and newer refuse this flag.
if (process.versions.node.startsWith("20.")) {
  const flag = "--interrupt-budget=600000";
  setFlagsFromString(flag);
  process.execArgv.push(flag);
}

// Jest maps coverage only to the modules that a test file loaded itself.
const sharedRealm = process.argv.includes("--coverage")
  ? {}
  : {
      testEnvironment: "<rootDir>/test/shared-realm/environment.cjs",
      runtime: "<rootDir>/test/shared-realm/runtime.cjs",
    };

/** `npm run test:nightly`: both hosts where one tells as much, and the files that take long. */
const nightly = process.env.SVC_NIGHTLY === "1";

/** @type {import("jest").Config} */
export default {
  ...sharedRealm,
  testPathIgnorePatterns: ["/node_modules/", ...(nightly ? [] : ["\\.nightly\\.test\\.ts$"])],
  roots: ["<rootDir>/test"],
  extensionsToTreatAsEsm: [".ts"],
  moduleNameMapper: { "^(\\.{1,2}/.*)\\.js$": "$1" },
  transform: {
    "^.+\\.ts$": [
      "@swc/jest",
      {
        jsc: { target: "es2022", parser: { syntax: "typescript" } },
        module: { type: "es6" },
        sourceMaps: "inline",
      },
    ],
  },
  setupFiles: ["<rootDir>/test/fixed-seed.js"],
  // Services under test log at level debug into files, which are searched for the run's secrets at its end.
  globalSetup: "<rootDir>/test/secrets-in-logs/global-setup.js",
  globalTeardown: "<rootDir>/test/secrets-in-logs/global-teardown.js",
  testSequencer: "<rootDir>/test/longest-first.js",
  reporters: ["default", "<rootDir>/test/closing-line-reporter.js"],
  collectCoverageFrom: ["src/**/*.ts", "!src/main.ts"],
  coverageProvider: "v8",
  coverageReporters: ["text", "json-summary"],
  coverageThreshold: {
    "./src/core/": { lines: 90 },
    "./src/comments/": { lines: 90 },
    "./src/config/": { lines: 90 },
    "./src/deployer/": { lines: 90 },
  },
  // On two cores, one more than there are: some tests wait for other processes (git, Redis, a browser).
  maxWorkers: 3,
  // A worker that is replaced loads every module again.
  workerIdleMemoryLimit: "1.6GB",
  // A worker gives back a gigabyte when it ends. After the default of half a second a busy machine's were killed, and
  // Jest blamed the tests; now it does so only if one of them has left something open.
  workerGracefulExitTimeout: 30_000,
  // Only for what hangs: a test may take long on a busy machine.
  testTimeout: 300_000,
};
