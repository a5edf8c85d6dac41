const { createHash } = require("node:crypto");
const { join, relative } = require("node:path");

const TESTS = join(__dirname, "..");
/** Pipelines through rooms that name no host, as architecture.test.ts proves; what knows a host is always tested on both. */
const FOLDERS = ["scenarios/", "corpus/", "observe/"];
const HOST = /\bhost[ab]\b/g;

/**
 * Leaves out one host of each case that stands in a file for both: which, is decided by a hash of the case's name, the
 * same in every run. Cases of a describe block with a `beforeAll` or `afterAll` share something, and keep to one host.
 */
function keepOneHost(root, path) {
  const name = relative(TESTS, path);
  if (process.env.SVC_NIGHTLY === "1" || !FOLDERS.some((folder) => name.startsWith(folder))) return;
  const cases = casesIn(root);
  const hosts = new Map();
  for (const one of cases) hosts.set(one.named, (hosts.get(one.named) ?? new Set()).add(one.host));
  const dropped = cases.filter(({ named, decidedBy, host }) => {
    const both = [...hosts.get(named)].sort();
    return both.length > 1 && both[hashOf(`${name} ${decidedBy}`) % both.length] !== host;
  });
  for (const { test } of dropped) {
    test.parent.children = test.parent.children.filter((child) => child !== test);
    test.parent.tests = test.parent.tests.filter((one) => one !== test);
  }
}

/** The tests below a block of jest-circus: their names without the host, their host, and the name that decides. */
function casesIn(block, blocks = []) {
  return block.children.flatMap((child) => {
    if (child.type === "describeBlock") return casesIn(child, [...blocks, child]);
    const full = [...blocks, child].map((one) => one.name).join(" ");
    const sharing = blocks.findIndex(({ hooks }) => hooks.some(({ type }) => type.endsWith("All")));
    const decidedBy =
      sharing === -1
        ? full
        : blocks
            .slice(0, sharing + 1)
            .map((one) => one.name)
            .join(" ");
    return [{ test: child, named: without(full), decidedBy: without(decidedBy), host: full.match(HOST)?.[0] }];
  });
}

function without(name) {
  return name.replace(HOST, "HOST");
}

function hashOf(text) {
  return createHash("sha256").update(text).digest().readUInt32BE();
}

module.exports = { keepOneHost };
