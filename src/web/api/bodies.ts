import { Router } from "express";
import { withPresentLocks } from "../../core/commands/locks.js";
import type { Account } from "../../core/model/account.js";
import { changePagePath, type ChangeRequestRef, changeRequestName } from "../../core/model/change-request.js";
import type { CheckResult } from "../../core/model/check.js";
import { plainText } from "../../core/model/host-words.js";
import type { Lock } from "../../core/model/lock.js";
import { leftIn, type ManifestDiff, type ResourceChange } from "../../core/model/plan/manifest-diff.js";
import type {
  ApplicationPlan,
  ApplicationSetPreview,
  Plan,
  PlanLock,
  PreviewContent,
} from "../../core/model/plan/plan.js";
import type { AuditRecord } from "../../core/ports/audit.js";
import { type HostPageOf, activityQuery, auditQueryOf, CHANGE_ADDRESS, readChangeAddress } from "../addresses.js";
import { viewerOf } from "../viewer.js";
import { answering, readQuery, withoutQuery, type ApiParts } from "./answers.js";

/** The bodies of `/api/v1`, described in `openapi.yaml`, and the routes that read plans and activity. Members without a value are omitted. */

export function userBody({ id, username, email, role, provider }: Account) {
  return { id, username, email, role, provider };
}

function changeBody(change: ChangeRequestRef, hostPageOf: HostPageOf) {
  const { host, repository, number } = change;
  return { host, repository, number, url: hostPageOf(change), page: changePagePath(change) };
}

export function lockBody(
  { application, holder, user, timestamp, planRevision, sourceFile }: Lock,
  hostPageOf: HostPageOf,
) {
  return {
    application,
    pr_number: holder.number,
    repository: holder.repository,
    host: holder.host,
    user,
    timestamp,
    plan_revision: planRevision,
    source_file: sourceFile,
    url: hostPageOf(holder),
  };
}

function activityBody(record: AuditRecord, hostPageOf: HostPageOf) {
  const { id, at, runId, who, change, head, action, command, applications, reason, seconds } = record;
  return {
    id,
    at,
    run_id: runId,
    who: whoBody(who),
    change: change && changeBody(change, hostPageOf),
    head,
    action,
    command,
    applications: applications.map(({ application, outcome, detail }) => ({ application, outcome, detail })),
    reason,
    seconds,
  };
}

function whoBody(who: AuditRecord["who"]) {
  if (typeof who === "string") return { kind: "service" as const };
  if (who.host === "api-token") return { kind: "token" as const, name: who.login };
  return { kind: "person" as const, provider: who.host, id: who.id, username: who.login };
}

/** A stored plan in full, including what a comment had to cut. Plans contain no values of Secrets. */
function planBody(plan: Plan, hostPageOf: HostPageOf) {
  return {
    change: changeBody(plan.change, hostPageOf),
    head: plan.head,
    planned_at: plan.plannedAt,
    applications: plan.applications.map((one) => applicationBody(one, hostPageOf)),
    application_sets: plan.applicationSets.map(setBody),
    previews: plan.previews.map(({ application, origin, content }) => ({
      application,
      origin: { kind: origin.kind, of: origin.of, change: origin.change },
      preview: previewBody(content),
    })),
    not_deployed: plan.notDeployed.map(({ application, reason }) => ({ application, reason })),
    released: plan.released,
    notes: plan.notes,
  };
}

function applicationBody(plan: ApplicationPlan, hostPageOf: HostPageOf) {
  return {
    application: plan.application,
    kind: plan.kind,
    lock: planLockBody(plan.lock, hostPageOf),
    source_file: plan.sourceFile,
    at_merge: plan.atMerge,
    warnings: plan.warnings.map(plainText),
    ...evaluationBody(plan),
  };
}

function evaluationBody(plan: ApplicationPlan) {
  switch (plan.kind) {
    case "new":
    case "deleted":
      return { preview: plan.preview && previewBody(plan.preview) };
    case "unplanned":
      return {};
    case "unevaluated":
      return { reason: plan.reason, definition: plan.definition, ...checksBody(plan) };
    case "evaluated": {
      const { hiddenSecrets, basis } = plan.diff;
      return {
        verdict: plan.verdict,
        writes_definition: plan.writesDefinition,
        definition: plan.definition,
        hidden_secrets: hiddenSecrets,
        compared_with: basis.kind === "live-failed" ? ("branch" as const) : basis.kind,
        ...diffBody(plan.diff),
        ...checksBody(plan),
        ...(basis.kind === "both" ? { drift: basis.drift.map(resourceBody) } : {}),
      };
    }
  }
}

function checksBody({ checks }: { readonly checks?: readonly CheckResult[] | undefined }) {
  return checks === undefined ? {} : { checks: checks.map(checkBody) };
}

function checkBody({ name, required, outcome }: CheckResult) {
  return { name, required, ...outcome };
}

function diffBody(diff: ManifestDiff) {
  const { created: create, updated: update, deleted, stay = 0, hooksChanged: hooks, cautions, resources } = diff;
  return {
    changes: { create, update, delete: deleted, stay, left: leftIn(diff), hooks },
    cautions,
    resources: resources.map(resourceBody),
  };
}

function resourceBody({ action, title, kind, diff, hook, left, sides }: ResourceChange) {
  return { action, title, kind, diff, hook, left, sides };
}

function previewBody(content: PreviewContent) {
  return { ...previewedBody(content), ...checksBody(content) };
}

function previewedBody(content: PreviewContent) {
  switch (content.kind) {
    case "compared":
      return { kind: content.kind, ...diffBody(content.diff) };
    case "left-behind":
      return { kind: content.kind, objects: content.objects, cautions: content.caution && [content.caution] };
    case "failed":
      return { kind: content.kind, reason: content.reason, withheld: content.withheld === true };
    case "beyond-limit":
      return { kind: content.kind, limit: content.limit };
  }
}

function planLockBody(lock: PlanLock, hostPageOf: HostPageOf) {
  if (lock.kind !== "held") return { kind: lock.kind };
  return { kind: lock.kind, by: lockBody(lock.by, hostPageOf), place: lock.place };
}

function setBody({ name, sourceFile, added, removed, changed, notes, problem, failure }: ApplicationSetPreview) {
  return { name, source_file: sourceFile, added, removed, changed, notes, problem, failure };
}

const DEFAULT_LIMIT = 50;

/** `/api/v1/plans` and `/api/v1/activity`: what is planned, and what was done. */
export function readRoutes(parts: ApiParts): Router {
  const { plans, audit, readers, hostWords, hostPageOf } = parts;
  const router = Router();
  router.get(
    "/plans/:host/:owner/:repo/:number",
    withoutQuery,
    answering(async (request) => {
      const change = readChangeAddress(request.params);
      if (change === undefined) {
        const error = `the address must be /api/v1/plans/${CHANGE_ADDRESS}, with subgroups encoded in <owner>`;
        return { status: 400, error };
      }
      const plan = await plans.find(change);
      if (plan === undefined) {
        const error = `no plan is stored for ${changeRequestName(change)}: comment \`${hostWords[change.host].command} plan\` on it`;
        return { status: 404, error };
      }
      const right = await readers.ask(viewerOf(request), plan.change);
      if (right.kind === "hidden") return { status: 403, error: `${right.why} ${right.cure}`.trim() };
      return { status: 200, body: { plan: planBody(await withPresentLocks(plan, parts), hostPageOf) } };
    }),
  );
  router.get(
    "/activity",
    answering(async (request) => {
      const query = readQuery(request, activityQuery);
      if (query.kind === "wrong") return query.answer;
      const asked = auditQueryOf(query.value, DEFAULT_LIMIT);
      const entries = await audit.list(asked);
      const next = entries.length === asked.limit ? entries.at(-1)?.id : undefined;
      return { status: 200, body: { entries: entries.map((entry) => activityBody(entry, hostPageOf)), next } };
    }),
  );
  return router;
}
