const { TestEnvironment } = require("jest-environment-node");

/** jest-circus keeps its handlers on the global object; those of the file before would handle every event twice. */
const CIRCUS_HANDLERS = Symbol.for("EVENT_HANDLERS");

let realm;

/** One global object for all test files of a worker, so that modules loaded for one of them can serve the next. */
class SharedRealm extends TestEnvironment {
  constructor(config, context) {
    super(config, context);
    const { context: vmContext, global, _globalProxy, moduleMocker, fakeTimers, fakeTimersModern } = this;
    realm ??= { context: vmContext, global, _globalProxy, moduleMocker, fakeTimers, fakeTimersModern };
    Object.assign(this, realm);
    this.global[CIRCUS_HANDLERS] = undefined;
  }

  /** Modules of this file serve the next one, and may load more modules then. */
  async teardown() {}
}

module.exports = SharedRealm;
