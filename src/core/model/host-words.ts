import type { HostId } from "../../names.js";
import { changeRequestName, type ChangeRequestRef, sameRepositoryOf } from "./change-request.js";

/** How one code host names things, and what it shows of a text. */
export interface HostTerms {
  /** The product's name. */
  readonly title: string;
  /** What a change request is called, in lower case: `pull request`. */
  readonly changeRequest: string;
  /** The same for short lines: `PR`. */
  readonly short: string;
  /** In front of a change request's number. */
  readonly sigil: string;
  /** The longest comment that we post, in UTF-16 code units. */
  readonly maxComment: number;
  /** The longest description of a commit status, in characters. */
  readonly maxStatusDescription: number;
  /** How many commit statuses of one name a commit may get; the host refuses more. Undefined without such a limit. */
  readonly maxStatuses: number | undefined;
  /** The description of a pending commit status cannot be changed while the status stays pending. */
  readonly keepsPendingText: boolean;
  /** What people write before the command word and get told to leave out: `/svc`, and `@svc` where that mentions no stranger. */
  readonly signs: readonly Sign[];
}

export type Sign = "/" | "@";

/** What every text for the people of one code host is written with, as plain data, since worker threads write texts too. */
export interface HostWords extends HostTerms {
  /** What a comment begins with to be a command: `svc`, unless `server.command` says otherwise. */
  readonly command: string;
}

/** The words of every host that svc knows, configured or not. */
export type AllHostWords = Readonly<Record<HostId, HostWords>>;

/** Names a change request for people who read another: `PR #7`, or with its repository `acme/deploy#7`. @param words Of the reader's host. */
export function referenceTo(
  other: ChangeRequestRef,
  reader: Pick<ChangeRequestRef, "host" | "repository" | "repositoryId">,
  { short, sigil }: HostWords,
): string {
  const neighbours = other.host === reader.host && sameRepositoryOf(other, reader);
  return neighbours ? `${short} ${sigil}${other.number}` : changeRequestName(other);
}

/** A sentence with a reference to another change request apart: comments make a link of that alone, as the words around may be a stranger's. */
export type Message =
  | string
  | {
      readonly before: string;
      readonly reference: string;
      readonly change: ChangeRequestRef;
      readonly after: string;
    };

/** Where nothing can be a link. */
export function plainText(message: Message): string {
  return typeof message === "string" ? message : `${message.before}${message.reference}${message.after}`;
}

/** Names the first `most` texts and counts the rest: `a, b and 3 more`. */
export function listed(texts: readonly string[], most: number): string {
  const more = texts.length - most;
  const first = texts.slice(0, most).join(", ");
  return more > 0 ? `${first} and ${more} more` : first;
}

/** `1 resource`, `2 resources`. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}
