import type { ChangeRequest } from "../../core/model/change-request.js";
import { HeadMoved } from "../../core/model/errors.js";
import type { CodeHost } from "../../core/ports/code-host.js";
import type { OpenOptions, Repositories, RepositorySnapshot } from "../../core/ports/repositories.js";

interface Opening extends Pick<OpenOptions, "signal" | "patient"> {
  readonly host: CodeHost;
  readonly repositories: Repositories;
}

/**
 * Opens the commits of a change request. The host's ref of the head may be late by seconds, or in bad cases by hours: where it
 * shows another commit, the host is asked for the head again.
 * @throws {HeadMoved}
 */
export async function openRepository(
  change: ChangeRequest,
  { host, repositories, signal, patient }: Opening,
): Promise<RepositorySnapshot> {
  const source = await host.cloneSource(change);
  try {
    return await repositories.open(change, source, { signal, patient });
  } catch (error) {
    if (!(error instanceof HeadMoved)) throw error;
    const { headRevision } = await host.getChangeRequest(change, signal);
    if (headRevision !== change.headRevision) throw error;
    return repositories.open(change, source, { signal, patient, confirmed: true });
  }
}
