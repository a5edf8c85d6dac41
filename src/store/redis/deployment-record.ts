import { z } from "zod";
import type { ApplicationSpec } from "../../core/model/application.js";
import type { Deployment } from "../../core/model/deployment.js";
import { isJsonObject } from "../../core/model/json.js";
import { orUndefined, storedApplication, storedChange, storedRevision, storedTime } from "./scalars.js";
import { readStored } from "./stored-value.js";

const spec = z.custom<ApplicationSpec>(isJsonObject);

const deployment: z.ZodType<Deployment> = z.object({
  application: storedApplication,
  change: storedChange,
  revision: storedRevision,
  outcome: z.enum(["started", "succeeded", "failed", "unknown"]),
  specBefore: spec,
  specWritten: orUndefined(spec),
  approvers: z.array(z.string()),
  user: z.string(),
  run: orUndefined(z.string()),
  timestamp: storedTime,
});

const deploymentRecord = z.object({ v: z.literal(1), deployment });

export function deploymentRecordOf(value: Deployment): string {
  return JSON.stringify({ v: 1, deployment: value });
}

/** @throws {StoredValueUnreadable} */
export function readDeployment(text: string, key: string): Deployment {
  return readStored(deploymentRecord, text, "the record of a deployment", key).deployment;
}
