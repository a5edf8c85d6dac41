import * as z from "zod";
import type { Effect, Member } from "../../core/model/effect.js";
import { orUndefined, stored } from "./stored-value.js";

const identity = {
  application: stored.application,
  project: z.string(),
  destination: z.object({ cluster: z.string(), namespace: z.string() }),
  namespaces: z.array(z.string()),
};

const move = z.object({
  what: z.enum(["repository", "project", "destination", "auto-sync"]),
  from: z.string(),
  to: z.string(),
});

/** An application of an effect. */
export const storedMember: z.ZodType<Member> = z.object({
  ...identity,
  reachedBy: z.discriminatedUnion("kind", [
    z.object({ kind: z.literal("direct") }),
    z.object({ kind: z.literal("child"), of: stored.application }),
    z.object({ kind: z.literal("generated"), by: z.string() }),
  ]),
  definition: z.discriminatedUnion("kind", [
    z.object({ kind: z.enum(["unchanged", "new", "removed", "unknown"]) }),
    z.object({ kind: z.literal("changed"), moves: z.array(move) }),
  ]),
  digest: orUndefined(z.string()),
  sources: z.array(z.object({ repoURL: z.string(), targetRevision: z.string(), commit: orUndefined(stored.revision) })),
  boundAs: z.array(z.object({ ...identity, because: z.string() })),
  problem: orUndefined(z.string()),
});

/** What one deployment changes. */
export const storedEffect: z.ZodType<Effect> = z.object({
  members: z.array(storedMember),
  applies: z.array(z.object({ application: stored.application, digest: z.string() })),
});
