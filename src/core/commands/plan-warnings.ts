import type { ChangeRequest } from "../model/change-request.js";
import { isDeployedAt, type Deployment } from "../model/deployment.js";
import { destinationOf } from "../model/destination.js";
import { referenceTo, type HostWords } from "../model/host-words.js";
import type { LiveSubject } from "../model/subject.js";
import type { CommandContext } from "../ports/context.js";
import { movesCluster } from "../render/live-diff-mode.js";
import { findInputGaps } from "../survey/input-gaps.js";

/** What a plan warns of beside the diff: moves, commits that run already, and what a sync would leave out or revert. */
export async function warningsOf(subject: LiveSubject, context: CommandContext): Promise<readonly string[]> {
  const { uncovered, behind } = await findInputGaps(subject, context);
  const gaps = [uncovered, behind?.wouldRevert].filter((one) => one !== undefined);
  const { ownRecord, foreignRecords } = subject;
  const words = context.hostWords[context.change.host];
  const deployed =
    ownRecord === undefined || isDeployedAt(ownRecord, context.change.headRevision)
      ? []
      : [deployedFromHere(ownRecord, words)];
  const moved = movesCluster(subject) ? [movedSentence(subject)] : [];
  return [
    ...subject.warnings,
    ...moved,
    ...deployed,
    ...foreignRecords.map((record) => deployedElsewhere(record, context.change, words)),
    ...gaps,
  ];
}

function movedSentence({ head, base }: LiveSubject): string {
  const [from, to] = [destinationOf(base.spec).cluster, destinationOf(head.spec).cluster];
  return `moves from the cluster ${from} to ${to}: everything is created there, and what runs in ${from} stays there unmanaged. Delete it afterwards`;
}

function deployedFromHere({ revision }: Deployment, { short }: HostWords): string {
  return `may run commit ${revision.slice(0, 8)} of this ${short}, which was deployed and is not merged: the diff is against the target branch, not against that commit`;
}

function deployedElsewhere(record: Deployment, change: ChangeRequest, words: HostWords): string {
  return `runs commit ${record.revision.slice(0, 8)} of ${referenceTo(record.change, change, words)}, which is deployed and not merged: a sync from here replaces it`;
}
