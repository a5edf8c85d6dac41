import type { Reverts, User } from "../core/model/change-request.js";
import { SERVICE } from "../names.js";
import { oneLine } from "./host-answer.js";

const PATTERN = new RegExp(`^<!-- ${SERVICE}:revert of=([1-9]\\d{0,9}) by=([1-9]\\d{0,19}) -->`);

/** The title of a revert, as both hosts write it. */
export function revertTitle(title: string): string {
  return `Revert "${oneLine(title, 200)}"`;
}

/** The description of a revert; its first line is for svc. */
export function revertBody(number: string, of: number, asker: User): string {
  return `<!-- ${SERVICE}:revert of=${of} by=${asker.id} -->\nReverts ${number}: \`${asker.login.replace(/[^\w.-]/g, "")}\` asked for it there with \`${SERVICE} revert\`.`;
}

export function readRevertBody(body: string): Reverts | undefined {
  const [, of, askedBy] = PATTERN.exec(body) ?? [];
  return of === undefined || askedBy === undefined ? undefined : { of: Number(of), askedBy };
}
