const asyncHooks = require("node:async_hooks");
const { join } = require("node:path");
const { pathToFileURL } = require("node:url");
const { default: Runtime } = require("jest-runtime");

const TESTS = join(__dirname, "..", "/");
const PER_FILE = [TESTS, pathToFileURL(TESTS).href, "@jest/globals/"];
const shared = { esModuleRegistry: new Map(), moduleRegistry: new Map(), internalModuleRegistry: new Map() };
/** Keeps what belongs to a test file in variables of its modules; the rest of Jest keeps it on the global object. */
const CIRCUS = join("node_modules", "jest-circus", "/");

/**
 * Until it is disabled, a storage that was used once makes every promise of the process dearer: a tenth of the suite.
 * So those of a test file are disabled at its end, and Jest's own, which names the running test, becomes a variable.
 */
const storages = new Set();
class FileStorage extends asyncHooks.AsyncLocalStorage {
  constructor(...args) {
    super(...args);
    storages.add(this);
  }
}

/** Stands in for an AsyncLocalStorage where one thing runs at a time, as the tests of a worker do. */
class OneAtATime {
  #store;

  getStore() {
    return this.#store;
  }

  run(store, callback) {
    const before = this.#store;
    this.#store = store;
    const restore = () => (this.#store = before);
    let result;
    try {
      result = callback();
    } catch (error) {
      restore();
      throw error;
    }
    if (typeof result?.finally === "function") return result.finally(restore);
    restore();
    return result;
  }
}

/** Keeps the modules of `src/`, `sandbox/` and the packages from one test file to the next; those of `test/` are loaded anew. */
class SharedRuntime extends Runtime {
  #loadsJest = false;

  constructor(...args) {
    super(...args);
    for (const registry of Object.values(shared)) {
      for (const key of registry.keys()) if (isPerFile(key)) registry.delete(key);
    }
    Object.assign(this.registries, shared);
    const { coreModule } = this;
    const { require: requireCore } = coreModule;
    coreModule.require = (name) => {
      if (!/^(node:)?async_hooks$/.test(name)) return requireCore.call(coreModule, name);
      return { ...asyncHooks, AsyncLocalStorage: this.#loadsJest ? OneAtATime : FileStorage };
    };
  }

  requireInternalModule(...args) {
    this.#loadsJest = true;
    try {
      return super.requireInternalModule(...args);
    } finally {
      this.#loadsJest = false;
    }
  }

  /** Modules that this file loaded serve the next one, and may load more modules then: on demand, by this runtime. */
  teardown() {
    this.restoreAllMocks();
    this.enterTestCode();
    for (const storage of storages) storage.disable();
  }
}

function isPerFile(key) {
  return PER_FILE.some((prefix) => key.startsWith(prefix)) || key.includes(CIRCUS);
}

module.exports = SharedRuntime;
module.exports.default = SharedRuntime;
