import type { Settings } from "../../src/core/model/settings.js";

/** Settings as they are without any file, with what a test wants. */
export function sampleSettings(more: Partial<Settings> = {}): Settings {
  const settings: Settings = {
    autoplan: true,
    updateBranch: "command",
    skipNoChanges: false,
    autoMerge: false,
    mergeMethod: "squash",
    deleteSourceBranch: false,
    protectedBranches: ["main", "master", "develop", "development"],
    approvalFromCommitters: false,
    planDrafts: false,
    prune: false,
    allowForks: false,
    commandAccess: "write",
    applications: [],
    crPaths: [],
    namesNeedHost: false,
    applicationRepositories: [],
    projectRepositories: [],
    sensitiveKinds: [],
    stages: [],
    requirementsFor: () => ({ requireApproval: false, requireUpToDate: false }),
    accessTo: () => [],
    needsAdministrator: false,
    rulesChange: undefined,
    notes: [],
    including: () => Promise.resolve(settings),
    ...more,
  };
  return settings;
}
