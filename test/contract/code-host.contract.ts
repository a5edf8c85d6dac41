import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { accessContract } from "./code-host-access.contract.js";
import { approvalContract } from "./code-host-approval.contract.js";
import { deploymentsContract } from "./code-host-deployments.contract.js";
import { factsContract } from "./code-host-facts.contract.js";
import { faultsContract } from "./code-host-faults.contract.js";
import { filesContract } from "./code-host-files.contract.js";
import { marksContract } from "./code-host-marks.contract.js";
import { mergeContract } from "./code-host-merge.contract.js";
import { revertContract } from "./code-host-revert.contract.js";
import type { CodeHostUnderTest, StartOptions } from "./code-host-under-test.js";
import { updateContract } from "./code-host-update.contract.js";

export type Start = (options?: StartOptions) => Promise<CodeHostUnderTest>;

/** What every `CodeHost` must do, against a host in miniature over HTTP. */
export function codeHostContract(name: string, start: Start): void {
  describe(`code host: ${name}`, () => {
    const under = started(start, {});
    describe("facts", () => factsContract(under));
    describe("access", () => accessContract(under));
    describe("files", () => filesContract(under));
    describe("marks", () => marksContract(under));
    describe("deployments", () => deploymentsContract(under));
    describe("merge", () => mergeContract(under));
    describe("update of the branch", () => updateContract(under));
    describe("revert", () => revertContract(under));
    describe("a broken host", () => faultsContract(under));

    test("the host was asked and answered as its description has it, and no comment did anything by itself", () => {
      expect(under().forge.violations).toEqual([]);
      expect(under().quickActions()).toEqual([]);
      expect(under().forge.requests.length).toBeGreaterThan(100);
    });
  });
}

/** The approvals alone, for each edition or rule of a host. */
export function codeHostApprovalContract(name: string, start: Start, options: StartOptions): void {
  describe(`code host: approvals on ${name}`, () => {
    approvalContract(started(start, options), options.approvalsRequired ?? 0);
  });
}

function started(start: Start, options: StartOptions): () => CodeHostUnderTest {
  let under: CodeHostUnderTest | undefined;
  beforeAll(async () => {
    under = await start(options);
  });
  afterAll(() => under?.stop());
  return () => {
    if (under === undefined) throw new Error("the host was not started");
    return under;
  };
}
