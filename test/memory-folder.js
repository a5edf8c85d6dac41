import { mkdtemp, rm, statfs } from "node:fs/promises";

const SHARED_MEMORY = "/dev/shm";
const ENOUGH_BYTES = 4 * 1024 ** 3;

/** Temporary folders of this run lie in memory where there is enough of it: git and Redis write thousands of small files. */
export async function useMemoryFolder() {
  try {
    const { bavail, bsize } = await statfs(SHARED_MEMORY);
    if (bavail * bsize < ENOUGH_BYTES) return;
    process.env.SVC_TEST_MEMORY_FOLDER = process.env.TMPDIR = await mkdtemp(`${SHARED_MEMORY}/svc-tests-`);
  } catch {
    // No such folder on this system: the usual one serves as well.
  }
}

export async function removeMemoryFolder() {
  const folder = process.env.SVC_TEST_MEMORY_FOLDER;
  if (folder !== undefined) await rm(folder, { recursive: true, force: true });
}
