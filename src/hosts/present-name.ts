import type { RepositoryName } from "../core/model/brand.js";
import type { ChangeRequestRef } from "../core/model/change-request.js";
import { HostFailure } from "../core/model/errors.js";
import type { HostTerms } from "../core/model/host-words.js";

/** What a host answers about a change request or its repository. */
interface Found {
  readonly repositoryId: string;
}

/**
 * Reads something under the name that the repository has now. A host follows the old name of a renamed repository until somebody
 * gives it to another one, so an answer counts only with the id that the change request names.
 * @param nameOf The present name of the repository with an id; undefined if there is none that we may see.
 * @throws {HostFailure}
 */
export async function underPresentName<T extends Found>(
  change: ChangeRequestRef,
  read: (change: ChangeRequestRef) => Promise<T>,
  nameOf: (repositoryId: string) => Promise<RepositoryName | undefined>,
  { title }: Pick<HostTerms, "title">,
): Promise<T> {
  const { repositoryId, repository } = change;
  if (repositoryId === undefined) return read(change);
  const isIt = (found: T) => found.repositoryId === repositoryId;
  let failure: unknown = new HostFailure(
    "not-found",
    `${title} has another repository by the name ${repository} now, and the one that had it before cannot be found: it was deleted, or ${title} no longer shows it to us.`,
  );
  try {
    const found = await read(change);
    if (isIt(found)) return found;
  } catch (error) {
    if (!mayHaveMoved(error)) throw error;
    failure = error;
  }
  const present = await nameOf(repositoryId);
  if (present === undefined || present === repository) throw failure;
  const found = await read({ ...change, repository: present });
  if (!isIt(found)) throw failure;
  return found;
}

function mayHaveMoved(error: unknown): boolean {
  return error instanceof HostFailure && (error.reason === "not-found" || error.reason === "forbidden");
}
