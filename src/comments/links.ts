import { code } from "./markdown.js";

/** Where the names in a comment lead. Plain data, because worker threads write comments too. */
export interface Links {
  /** Argo CD's pages for people. */
  readonly deployer: string;
  /** The head commit on its host. */
  readonly head: string;
  /** The change request's page here; undefined if there is no login. */
  readonly page: string | undefined;
}

/** The name of a live application, which leads to it in Argo CD. */
export function applicationLink(application: string, links: Links): string {
  return linked(code(application), applicationAddress(application, links));
}

/** Where Argo CD shows an application. */
export function applicationAddress(application: string, { deployer }: Links): string {
  // Half of a character has no escape.
  const parts = application.replace(/\p{Cs}/gu, "").split("/");
  return `${deployer}/applications/${parts.map(encodeURIComponent).join("/")}`;
}

/** The head commit, which leads to it on its host. */
export function headLink(head: string, links: Links): string {
  return linked(code(head.slice(0, 8)), links.head);
}

/** Markdown that leads to an address; as it is without one. */
export function linked(text: string, address: string | undefined): string {
  return address === undefined ? text : `[${text}](<${address}>)`;
}
