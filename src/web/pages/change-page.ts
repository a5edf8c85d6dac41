import {
  changePagePath,
  changeRequestName,
  type ChangeRequestRef,
  sameChangeRequest,
} from "../../core/model/change-request.js";
import type { Deployment } from "../../core/model/deployment.js";
import type { HostWords } from "../../core/model/host-words.js";
import type { Lock } from "../../core/model/lock.js";
import type { Plan } from "../../core/model/plan.js";
import { withPresentLocks } from "../../core/survey/present-locks.js";
import { HOST_IDS, HOST_TITLES } from "../../names.js";
import { CHANGE_ADDRESS, readChangeAddress } from "../change-address.js";
import { changeHead } from "./change-head.js";
import { ownDeploymentState } from "./deployment-state.js";
import { lastFailure } from "./last-failure.js";
import { isAdmin, type Page, type PageParts, problemPage, type Reader } from "./page.js";
import { planView } from "./plan-view.js";
import { shownChange, shownTime } from "./shown.js";

/** Of the audit trail, to find the last failure. */
const MOST_ENTRIES = 20;

const HOSTS = HOST_IDS.map((id) => `${id} is ${HOST_TITLES[id]}`).join(", ");

/** One change request: its locks, its deployments, and its plan with the whole diff. */
export async function changePage(
  address: Readonly<Record<string, unknown>>,
  reader: Reader,
  parts: PageParts,
): Promise<Page> {
  const change = readChangeAddress(address);
  if (change === undefined) {
    return problemPage(404, "No such page", [
      `The address of such a page is \`/changes/${CHANGE_ADDRESS}\`: ${HOSTS}.`,
      "Subgroups are part of the owner, with `%2F` for each slash.",
    ]);
  }
  const words = parts.hostWords[change.host];
  const [stored, locks, everyRecord, entries] = await Promise.all([
    parts.plans.find(change),
    parts.locks.list(change),
    parts.deployments.ofChange(change),
    parts.audit.list({ limit: MOST_ENTRIES, filter: { change } }),
  ]);
  const plan = stored && (await withPresentLocks(stored, parts));
  if (plan === undefined && locks.length === 0 && everyRecord.length === 0) return unknownChange(change, words);
  const { hostPageOf, clock } = parts;
  const right = plan && (await parts.readers.ask(reader, change));
  const withDiff = right?.kind === "shown";
  const known = { planned: [plan?.head, plan?.plannedAt], locks, records: everyRecord };
  const situation = withDiff ? await parts.situations.ask(change, known) : undefined;
  const now = clock.now();
  return {
    view: "change",
    title: changeRequestName(change),
    data: {
      change: shownChange(change, hostPageOf),
      words,
      head: situation?.kind === "known" ? changeHead(situation.summary, words) : undefined,
      headless: situation?.kind === "unknown" ? situation.why : undefined,
      failure: lastFailure(entries, { withDiff, now }),
      live: `${changePagePath(change)}/live`,
      plan: plan && {
        head: plan.head,
        at: shownTime(plan.plannedAt, now),
        applications: planView(plan, { withDiff, words, hostPageOf }),
        sets: plan.applicationSets,
        notDeployed: plan.notDeployed,
        released: plan.released,
        notes: withDiff ? plan.notes : [],
      },
      withDiff,
      hidden: right?.kind === "hidden" && reader.kind === "account" ? right : undefined,
      admin: isAdmin(reader),
      rows: stateRows(change, { plan, locks, records: everyRecord }, now),
    },
  };
}

function unknownChange(change: ChangeRequestRef, { command, title }: HostWords): Page {
  return problemPage(404, `${changeRequestName(change)} has no plan`, [
    "No plan is stored for it, it holds no lock, and nothing is deployed from it.",
    `Comment \`${command} plan\` on it on ${title}. The plan then appears here and is kept for 30 days.`,
  ]);
}

interface Known {
  readonly plan: Plan | undefined;
  readonly locks: readonly Lock[];
  readonly records: readonly Deployment[];
}

/** One row per application that this change request has planned, locked or deployed. */
function stateRows(change: ChangeRequestRef, { plan, locks, records }: Known, now: Date) {
  const planned = plan?.applications.map(({ application }) => application) ?? [];
  const names = new Set([...planned, ...locks.map((one) => one.application), ...records.map((one) => one.application)]);
  return [...names].sort().map((application) => {
    const lock = locks.find((one) => one.application === application);
    const record = records.find((one) => one.application === application && sameChangeRequest(one.change, change));
    return {
      application,
      lock: lock && {
        user: lock.user,
        since: shownTime(lock.timestamp, now),
        current: lock.planRevision === plan?.head,
      },
      deployment: record && {
        ...ownDeploymentState(record, plan?.head),
        commit: record.revision,
        user: record.user,
        at: shownTime(record.timestamp, now),
      },
    };
  });
}
