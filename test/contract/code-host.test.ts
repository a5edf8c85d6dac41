import { startGitHubUnderTest, startGitLabUnderTest } from "./code-host-under-test.js";
import { codeHostContract } from "./code-host.contract.js";

codeHostContract("GitHub", startGitHubUnderTest);
codeHostContract("GitLab", startGitLabUnderTest);
