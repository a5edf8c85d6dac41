import { z } from "zod";
import { destination } from "./application-spec.js";
import { metadata } from "./application.js";

const text = z.string();

/** The part of an AppProject that clients of the sandbox write. */
const projectSpec = z.strictObject({
  clusterResourceWhitelist: z.array(z.strictObject({ group: text, kind: text })).optional(),
  description: text.optional(),
  destinations: z.array(destination).optional(),
  sourceRepos: z.array(text).optional(),
});

/** An AppProject as answers show it. */
export const project = z.strictObject({ metadata, spec: projectSpec, status: z.strictObject({}) });

export const createProjectRequest = z.strictObject({
  project: z.strictObject({
    apiVersion: text.optional(),
    kind: text.optional(),
    metadata,
    spec: projectSpec,
  }),
  upsert: z.boolean().optional(),
});

export type CreateProjectRequest = z.infer<typeof createProjectRequest>;
export type PresentedProject = z.infer<typeof project>;
