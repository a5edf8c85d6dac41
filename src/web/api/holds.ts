import { randomUUID } from "node:crypto";
import express, { Router } from "express";
import * as z from "zod";
import { patternProblem } from "../../config/pattern.js";
import { parseDuration } from "../../config/schema-parts.js";
import { type Hold, HOLD_MS, LONGEST_HOLD_MS } from "../../core/model/hold.js";
import { matchesHold } from "../../core/policy/effect-rules.js";
import type { Clock } from "../../core/ports/clock.js";
import type { Log } from "../../core/ports/log.js";
import type { Publisher } from "../../run/around/publisher.js";
import type { Stores } from "../../store/stores.js";
import { answering, answeringAdmin, pathPart, readBody, withoutQuery } from "./answers.js";

interface HoldParts extends Pick<Stores, "holds"> {
  readonly publisher: Publisher;
  readonly clock: Clock;
  readonly log: Log;
}

/** `/api/v1/holds`: what is neither synced nor merged for a time. */
export function holdRoutes(parts: HoldParts): Router {
  const { holds, publisher, clock, log } = parts;
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
        const given = readBody(request, newHold(now));
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
        await holds.save(hold, now);
        log.info({ hold: hold.id, applications, until, by: id }, "deployments are held");
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
      const hold = await holds.remove(pathPart(request, "id"));
      if (hold === undefined) return { status: 404, error: "no hold has this id; GET /api/v1/holds lists them" };
      log.info({ hold: hold.id, applications: hold.applications, by: admin.id }, "a hold was released");
      await publisher.touchedAll((application) => matchesHold(hold, application));
      return { status: 200, body: { status: "released", hold: holdBody(hold) } };
    }, withoutQuery),
  );
  return router;
}

export function holdBody({ id, applications, reason, by, since, until }: Hold) {
  return { id, applications, reason, by: by.login, since, until };
}

const MOST_PATTERNS = 100;
const LONGEST_REASON = 300;

function newHold(now: Date) {
  return z.strictObject({
    applications: z
      .array(
        z.string().check((context) => {
          const problem = patternProblem(context.value);
          if (problem !== undefined) context.issues.push({ code: "custom", input: context.value, message: problem });
        }),
      )
      .min(1, { error: "must name at least one application or pattern" })
      .max(MOST_PATTERNS, { error: `must not have more than ${MOST_PATTERNS} entries` }),
    reason: z
      .string({ error: "must say why, for those who wait" })
      .trim()
      .min(1, { error: "must say why, for those who wait" })
      .max(LONGEST_REASON, { error: `must not be longer than ${LONGEST_REASON} characters` })
      .regex(/^[^\p{Cc}\p{Cf}]*$/u, { error: "must be one line of text" }),
    until: z
      .string()
      .optional()
      .transform((text, context) => {
        const end = text === undefined ? now.getTime() + HOLD_MS : endIn(text, now);
        if (end > now.getTime() && end <= now.getTime() + LONGEST_HOLD_MS) return new Date(end).toISOString();
        context.addIssue({
          code: "custom",
          message: "must be a time such as 2026-03-01T18:00:00Z, or a duration such as 2h, within 30 days from now",
        });
        return z.NEVER;
      }),
  });
}

/** Milliseconds since 1970; NaN if the text is neither a time nor a duration. */
function endIn(text: string, now: Date): number {
  const duration = parseDuration(text);
  if (duration !== undefined) return now.getTime() + duration;
  return z.iso.datetime({ offset: true }).safeParse(text).success ? Date.parse(text) : NaN;
}
