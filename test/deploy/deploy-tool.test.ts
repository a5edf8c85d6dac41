import { afterEach, expect, test } from "@jest/globals";
import { hasTool, runTool } from "./deploy-tool.js";

const { PATH } = process.env;
afterEach(() => {
  process.env.PATH = PATH;
});

test("without Helm and Go the checks fail with a sentence that says how to install them", () => {
  process.env.PATH = "/nonexistent";
  expect(hasTool("hadolint")).toBe(false);
  expect(() => runTool("helm", ["version"])).toThrow(
    "helm is not installed; run test/deploy/install-tools.sh (it needs Go)",
  );
});
