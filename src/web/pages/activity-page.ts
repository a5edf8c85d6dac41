import { AUDIT_ACTIONS, type AuditRecord } from "../../core/ports/audit.js";
import { activityQuery, auditQueryOf } from "../activity-query.js";
import { activityWords, outcomeWords } from "./activity-words.js";
import { type Page, type PageParts, problemPage } from "./page.js";
import { shownChange, shownTime, whoName } from "./shown.js";

const PAGE_LENGTH = 50;

/** The audit trail, newest first, with filters and paging. */
export async function activityPage(query: unknown, { audit, hostPageOf, clock }: PageParts): Promise<Page> {
  const given = filled(query);
  const parsed = activityQuery.safeParse(given);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    const what = issue === undefined ? "" : `${issue.path.join(".")}: ${issue.message}`;
    return problemPage(400, "This filter does not work", [what, "Go back to Activity and change it."]);
  }
  const asked = auditQueryOf(parsed.data, PAGE_LENGTH);
  const entries = await audit.list(asked);
  const now = clock.now();
  const { before, ...rest } = given;
  const last = entries.length === asked.limit ? entries.at(-1)?.id : undefined;
  return {
    view: "activity",
    title: "Activity",
    active: "activity",
    data: {
      rows: entries.map((entry) => rowOf(entry, now, hostPageOf)),
      actions: AUDIT_ACTIONS,
      filter: { application: "", login: "", action: "", change: "", ...given },
      filtered: Object.keys(given).some((name) => name !== "before" && name !== "limit"),
      older: last && `/activity?${new URLSearchParams({ ...given, before: last }).toString()}`,
      newest: before && `/activity?${new URLSearchParams(rest).toString()}`,
    },
  };
}

/** Without empty fields, which forms send too. */
function filled(query: unknown): Readonly<Record<string, string>> {
  const entries = Object.entries(typeof query === "object" && query !== null ? query : {});
  return Object.fromEntries(
    entries.filter((entry): entry is [string, string] => typeof entry[1] === "string" && entry[1].trim() !== ""),
  );
}

function rowOf(entry: AuditRecord, now: Date, hostPageOf: PageParts["hostPageOf"]) {
  return {
    at: shownTime(entry.at, now),
    who: whoName(entry.who),
    ...activityWords(entry),
    change: shownChange(entry.change, hostPageOf),
    commit: entry.head,
    applications: entry.applications.map((one) => {
      return { application: one.application, outcome: outcomeWords(one, entry), detail: one.detail };
    }),
  };
}
