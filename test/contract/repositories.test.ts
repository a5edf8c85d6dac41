import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createGitMirror } from "../../src/git/mirror.js";
import { startGitElsewhere } from "../git/git-launcher.js";
import { StoredRepositories } from "../in-memory/stored-repositories.js";
import { recordingLog } from "../recording-log.js";
import { repositoriesContract } from "./repositories.contract.js";

repositoriesContract("git over HTTP", async () => {
  const dataDir = await mkdtemp(join(tmpdir(), "svc-repositories-"));
  const mirror = createGitMirror({ dataDir, log: recordingLog(), startGit: startGitElsewhere });
  return {
    repositories: mirror,
    async stop() {
      await mirror.close();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
});

repositoriesContract("the sandbox's store", ({ store }) =>
  Promise.resolve({
    repositories: new StoredRepositories(() => ({ store, name: "acme/deploy" })),
    stop: () => Promise.resolve(),
  }),
);
