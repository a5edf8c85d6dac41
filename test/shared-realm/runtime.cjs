const { join } = require("node:path");
const { pathToFileURL } = require("node:url");
const { default: Runtime } = require("jest-runtime");

const TESTS = join(__dirname, "..", "/");
const PER_FILE = [TESTS, pathToFileURL(TESTS).href, "@jest/globals/"];
const shared = { esModuleRegistry: new Map(), moduleRegistry: new Map() };

/** Keeps the modules of `src/`, `sandbox/` and the packages from one test file to the next; those of `test/` are loaded anew. */
class SharedRuntime extends Runtime {
  constructor(...args) {
    super(...args);
    for (const registry of Object.values(shared)) {
      for (const key of registry.keys()) if (PER_FILE.some((prefix) => key.startsWith(prefix))) registry.delete(key);
    }
    Object.assign(this.registries, shared);
  }

  /** Modules that this file loaded serve the next one, and may import more of them then: on demand, by this runtime. */
  teardown() {
    this.restoreAllMocks();
    this.enterTestCode();
  }
}

module.exports = SharedRuntime;
module.exports.default = SharedRuntime;
