import { randomUUID } from "node:crypto";
import express, { Router } from "express";
import * as z from "zod";
import { namePatternProblem } from "../../config/pattern.js";
import { endOfHold, reasonProblem, WHY } from "../../core/commands/hold.js";
import { ifReadable, only, StoreUnavailable } from "../../core/model/errors.js";
import type { Hold } from "../../core/model/hold.js";
import { matchesHold } from "../../core/policy/effect-rules.js";
import { auditFactsOf, recordAudit } from "../../run/answer/audit.js";
import { answering, answeringAdmin, type ApiParts, pathPart, readBody, withoutQuery } from "./answers.js";

/** `/api/v1/holds`: what is neither synced nor merged for a time. */
export function holdRoutes(parts: ApiParts): Router {
  const { holds, publisher, timezone, clock, log } = parts;
  const router = Router();
  router.get(
    "/holds",
    withoutQuery,
    answering(async () => ({ status: 200, body: { holds: (await holds.list()).map(holdBody) } })),
  );
  router.post(
    "/holds",
    answeringAdmin(
      async (request, { provider, id, username: login }) => {
        const now = clock.now();
        const given = readBody(request, newHold(now, timezone));
        if (given.kind === "wrong") return given.answer;
        const { applications, reason, until } = given.value;
        const hold = {
          id: randomUUID(),
          applications,
          reason,
          by: { provider, id, login },
          since: now.toISOString(),
          until,
        };
        const save = () => holds.save(hold, now);
        await save().catch(only(StoreUnavailable, save));
        log.info({ hold: hold.id, applications, until, by: id }, "deployments are held");
        await noteHold({ kind: "held", hold }, hold.by, parts);
        await publisher.touchedAll((application) => matchesHold(hold, application));
        return { status: 200, body: { hold: holdBody(hold) } };
      },
      withoutQuery,
      express.json({ limit: "10kb", inflate: false }),
    ),
  );
  router.delete(
    "/holds/:id",
    answeringAdmin(async (request, admin) => {
      const id = pathPart(request, "id");
      const known = (await ifReadable(holds.list(), [])).find((one) => one.id === id);
      // Where the store's answer is lost, a hold that is gone by the next one was ended.
      const hold = await holds.remove(id).catch(only(StoreUnavailable, async () => (await holds.remove(id)) ?? known));
      if (hold === undefined) return { status: 404, error: "no hold has this id; GET /api/v1/holds lists them" };
      log.info({ hold: hold.id, applications: hold.applications, by: admin.id }, "a hold was released");
      const by = { provider: admin.provider, id: admin.id, login: admin.username };
      await noteHold({ kind: "released", hold }, by, parts);
      await publisher.touchedAll((application) => matchesHold(hold, application));
      return { status: 200, body: { status: "released", hold: holdBody(hold) } };
    }, withoutQuery),
  );
  return router;
}

/** Records who set or released a hold, as for one of a comment. Never throws. */
async function noteHold(
  { kind, hold }: { readonly kind: "held" | "released"; readonly hold: Hold },
  { provider, id, login }: Hold["by"],
  parts: ApiParts,
): Promise<void> {
  const facts = kind === "held" ? auditFactsOf({ kind, hold }) : auditFactsOf({ kind, holds: [hold] });
  const at = parts.clock.now().toISOString();
  const from = { runId: hold.id, delivery: "", change: undefined, head: undefined, command: undefined };
  if (facts !== undefined) await recordAudit({ at, who: { host: provider, id, login }, ...from, ...facts }, parts);
}

function holdBody({ id, applications, reason, by, since, until }: Hold) {
  return { id, applications, reason, by: by.login, since, until };
}

const MOST_PATTERNS = 100;
const NAME_CHARACTERS = /^[a-z0-9.*?{},/-]+$/i;
const ONLY_NAMES = "a name has only letters, digits, `-`, `.` and `/` in it; a hold by label is set in a comment";

function newHold(now: Date, timezone: string) {
  return z.strictObject({
    applications: z
      .array(
        z.string().transform((text, context) => {
          const problem = namePatternProblem(text) ?? (NAME_CHARACTERS.test(text) ? undefined : ONLY_NAMES);
          if (problem === undefined) return text.toLowerCase();
          context.addIssue({ code: "custom", message: problem });
          return z.NEVER;
        }),
        { error: "must be a list of names and patterns" },
      )
      .min(1, { error: "must name at least one application or pattern" })
      .max(MOST_PATTERNS, { error: `must not have more than ${MOST_PATTERNS} entries` }),
    reason: z.string({ error: WHY }).transform((text, context) => {
      const problem = reasonProblem(text);
      if (problem === undefined) return text.trim();
      context.addIssue({ code: "custom", message: problem });
      return z.NEVER;
    }),
    until: z
      .string()
      .optional()
      .transform((text, context) => {
        const end = endOfHold(text, now, timezone);
        if ("until" in end) return end.until;
        context.addIssue({ code: "custom", message: end.problem });
        return z.NEVER;
      }),
  });
}
