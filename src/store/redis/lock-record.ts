import { z } from "zod";
import type { Lock, LockRequest } from "../../core/model/lock.js";
import { LOCK_KEY_PREFIX } from "../../names.js";
import {
  orUndefined,
  storedApplication,
  storedHost,
  storedNumber,
  storedRepository,
  storedRevision,
  storedTime,
} from "./scalars.js";
import { readStored } from "./stored-value.js";

/** The record under `svc:lock:<application>`; an empty plan revision means that there was no plan yet. */
const lockRecord = z.object({
  v: z.literal(1),
  application: storedApplication,
  pr_number: storedNumber,
  repository: storedRepository,
  host: storedHost,
  user: z.string(),
  timestamp: storedTime,
  plan_revision: z.union([z.literal(""), storedRevision]),
  source_file: orUndefined(z.string()),
});

export function lockKey(application: string): string {
  return LOCK_KEY_PREFIX + application;
}

/** The part of the record that does not depend on what is stored: a JSON object without its closing brace. */
export function beginningOfLockRecord({ application, holder, user }: LockRequest): string {
  const { host, repository, number } = holder;
  return JSON.stringify({ v: 1, application, pr_number: number, repository, host, user }).slice(0, -1);
}

/** @throws {StoredValueUnreadable} */
export function readLock(text: string, key: string): Lock {
  const record = readStored(lockRecord, text, describeLock(key), key);
  return {
    application: record.application,
    holder: { host: record.host, repository: record.repository, number: record.pr_number },
    user: record.user,
    timestamp: record.timestamp,
    planRevision: record.plan_revision === "" ? undefined : record.plan_revision,
    sourceFile: record.source_file,
  };
}

export function describeLock(key: string): string {
  return `the lock of application ${key.slice(LOCK_KEY_PREFIX.length)}`;
}
