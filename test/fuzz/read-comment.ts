import { expect } from "@jest/globals";
import MarkdownIt, { type Token } from "markdown-it";
import { readMarker, type Marker } from "../../src/comments/marker.js";
import { HOSTS } from "../../src/hosts/registry.js";
import type { HostId } from "../../src/names.js";
import { LINKS } from "../comments/samples.js";
import { CANARY } from "./hostile-text.js";
import { must } from "./must.js";

/** CommonMark with HTML and tables, as the hosts read comments. */
const reader = new MarkdownIt({ html: true });

/** Markdown that no comment of ours uses: if it is there, it came from outside. */
const FOREIGN = new Set(
  ["image", "blockquote", "ordered_list", "em", "s", "code_block", "lheading", "html_inline"].flatMap((type) => [
    type,
    `${type}_open`,
  ]),
);
const OWN_HTML =
  /^(?:<!-- svc:[a-z-]+(?: [a-z]+=[^\s<>]*)* -->|<details(?: open)?><summary>[^<>]*<\/summary>|<\/details>)\n?$/;

/**
 * Fails unless the comment is as a host can take it and a person can trust it: short enough, marked, every fence and
 * collapsible closed, and with nothing from outside that acts.
 */
export function expectHarmless(body: string, host: HostId, kind: Marker["kind"]): void {
  expect(body.length).toBeLessThanOrEqual(HOSTS[host].maxComment);
  expect(readMarker(body)?.kind).toBe(kind);
  // GitLab runs such a line; a browser or terminal is deceived by such characters. The zero-width space is ours.
  expect(body).not.toMatch(/^\//m);
  expect(body.replaceAll("\u200b", "")).not.toMatch(/[^\P{Cc}\n\t]|\p{Cf}|[\u2028\u2029]/u);
  // Half of a pair is no character, and JSON with one is refused as invalid.
  expect(body).not.toMatch(/\p{Cs}/u);
  expectClosedFences(body);
  const tokens = reader.parse(body, {});
  let folds = 0;
  for (const token of tokens) {
    must(!FOREIGN.has(token.type), `${token.type} comes from outside: ${body}`);
    if (token.type === "html_block") {
      must(OWN_HTML.test(token.content), `this HTML is not ours: ${token.content}`);
      folds += Number(token.content.startsWith("<details")) - Number(token.content.startsWith("</details>"));
      must(folds >= 0, `a collapsible is closed that is not open: ${body}`);
    }
    if (token.type === "inline") expectHarmlessInline(token);
  }
  expect(folds).toBe(0);
}

/** Text between code spans is escaped: it neither formats, nor mentions or refers to anything. */
function expectHarmlessInline({ children }: Token): void {
  let strong = 0;
  let reference = false;
  for (const token of children ?? []) {
    must(!FOREIGN.has(token.type), `${token.type} comes from outside: ${token.content}`);
    if (token.type === "link_open") {
      must(isOwnAddress(token.attrGet("href")), `a link leads elsewhere: ${token.content}`);
      reference = CHANGE_REQUEST.test(String(token.attrGet("href")));
    }
    if (token.type === "link_close") reference = false;
    if (token.type === "strong_open") strong += 1;
    if (token.type === "strong_close") strong -= 1;
    if (token.type !== "text" && token.type !== "text_special") continue;
    must(strong === 0 || !token.content.includes(CANARY), `text from outside is bold: ${token.content}`);
    // In a link hosts look for no references.
    if (reference && OWN_REFERENCE.test(token.content)) continue;
    must(!/[@#!](?=[\w/])/.test(token.content), `somebody or something is mentioned: ${token.content}`);
    must(!/\$[^$]+\$/.test(token.content), `something is shown as a formula: ${token.content}`);
  }
}

const CHANGE_REQUEST = /^https:\/\/(?:host|gitlab)\.example\.com\/[\w.!~*'()%/-]*\/(?:pull|merge_requests)\/\d+$/;
const OWN_REFERENCE = /^(?:Locked by )?(?:[PM]R [#!]|[\w./-]+[#!])\d+(?: \([\w.-]+\))?$/;

/** Names in an address of ours are escaped. */
function isOwnAddress(address: string | number | null): boolean {
  const own = /^https:\/\/argocd\.example\.com\/applications\/[\w.!~*'()%/-]*(?:\?operation=true)?$/;
  return address === LINKS.head || own.test(String(address)) || CHANGE_REQUEST.test(String(address));
}

/** Read apart from Markdown: GitLab ends a block at the first line of backticks, however long its fence is. */
function expectClosedFences(body: string): void {
  let open = "";
  for (const line of body.split("\n")) {
    const [, marks = "", language = ""] = /^(`{3,})(\w*)$/.exec(line) ?? [];
    if (open === "") open = marks;
    else if (marks.length >= open.length && language === "") open = "";
    else if (/^`{3}/.test(line)) throw new Error(`a fence is closed by what is in it: ${line}`);
  }
  expect(open).toBe("");
}
