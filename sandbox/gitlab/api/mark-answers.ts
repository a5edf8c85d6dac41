import { z } from "zod";
import { statusStates } from "../model/pipeline.js";
import { user } from "./answers.js";

/* As `answers.ts`: pipelines and what programs put on notes and commits. */

const time = z.iso.datetime();
const commitId = z.string().regex(/^[0-9a-f]{40}$/);

export const pipeline = z.strictObject({
  id: z.int(),
  iid: z.int(),
  project_id: z.int(),
  sha: commitId,
  ref: z.string(),
  status: z.enum(["pending", "running", "success", "failed"]),
  source: z.literal("push"),
  created_at: time,
  updated_at: time,
  web_url: z.url(),
  before_sha: commitId,
  tag: z.boolean(),
  yaml_errors: z.null(),
  user,
  started_at: time,
  finished_at: time.nullable(),
  committed_at: z.null(),
  duration: z.int().nullable(),
  queued_duration: z.int(),
  coverage: z.null(),
  detailed_status: z.strictObject({
    icon: z.string(),
    text: z.string(),
    label: z.string(),
    group: z.string(),
    tooltip: z.string(),
    has_details: z.boolean(),
    details_path: z.string(),
    illustration: z.null(),
    favicon: z.string(),
  }),
  archived: z.boolean(),
});

export const awardEmoji = z.strictObject({
  id: z.int(),
  name: z.string(),
  user,
  created_at: time,
  updated_at: time,
  awardable_id: z.int(),
  awardable_type: z.literal("Note"),
  url: z.null(),
});

export const commitStatus = z.strictObject({
  id: z.int(),
  sha: commitId,
  ref: z.string(),
  status: z.enum(statusStates),
  name: z.string(),
  target_url: z.string().nullable(),
  description: z.string().nullable(),
  created_at: time,
  started_at: time.nullable(),
  finished_at: time.nullable(),
  allow_failure: z.boolean(),
  coverage: z.null(),
  pipeline_id: z.int(),
  author: user,
});
