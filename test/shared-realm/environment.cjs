const vm = require("node:vm");
const { TestEnvironment } = require("jest-environment-node");
const { keepOneHost } = require("./one-host.cjs");

/** What jest-circus keeps on the global object: its handlers, and the timeout that a file set with jest.setTimeout. */
const CIRCUS_STATE = [Symbol.for("EVENT_HANDLERS"), Symbol.for("TEST_TIMEOUT_SYMBOL")];

const { createContext } = vm;
let shared;

/** One global object for all test files of a worker, so that modules loaded for one of them can serve the next. */
class SharedRealm extends TestEnvironment {
  constructor(config, context) {
    if (shared === undefined) {
      // Jest's own global object stands behind a proxy. Each use of `Object` or `JSON` would ask it: a quarter of the suite.
      vm.createContext = () => createContext(vm.constants.DONT_CONTEXTIFY);
      super(config, context);
      vm.createContext = createContext;
      shared = this;
    }
    for (const symbol of CIRCUS_STATE) shared.global[symbol] = undefined;
    shared.testPath = context.testPath;
    return shared;
  }

  /** Called by jest-circus: all tests of the file are declared when the first of them is about to start. */
  handleTestEvent(event, state) {
    if (event.name !== "run_start") return;
    keepOneHost(state.rootDescribeBlock, this.testPath);
    if (process.env.SVC_CASES === "1") skipAll(state.rootDescribeBlock);
  }

  /** Modules of this file serve the next one, and may load more modules then. */
  async teardown() {}
}

/** `npm run test:cases` wants the names alone. */
function skipAll(block) {
  for (const child of block.children) {
    if (child.type === "describeBlock") skipAll(child);
    else child.mode = "skip";
  }
}

module.exports = SharedRealm;
