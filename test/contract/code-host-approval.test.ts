import { startGitHubUnderTest, startGitLabUnderTest } from "./code-host-under-test.js";
import { codeHostApprovalContract } from "./code-host.contract.js";

codeHostApprovalContract("GitHub without rules", startGitHubUnderTest, {});
codeHostApprovalContract("GitHub that requires two reviews", startGitHubUnderTest, { approvalsRequired: 2 });
codeHostApprovalContract("GitLab CE", startGitLabUnderTest, { edition: "ce" });
codeHostApprovalContract("GitLab Free", startGitLabUnderTest, { edition: "free" });
codeHostApprovalContract("GitLab Premium", startGitLabUnderTest, { edition: "premium", approvalsRequired: 2 });
codeHostApprovalContract("GitLab Premium that is slow to reset", startGitLabUnderTest, {
  edition: "premium",
  approvalsRequired: 1,
  approvalsSyncingReads: 4,
});
