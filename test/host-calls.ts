import { readFileSync } from "node:fs";
import type { Forge } from "../sandbox/forge.js";

/** A row of docs/host-calls.md. */
export interface HostCall {
  /** The method of the client library in backticks, or plain words for what does without one. */
  readonly call: string;
  readonly requests: readonly string[];
  /** A permission, a role or a scope. */
  readonly needs: string;
  readonly link: string;
}

const page = readFileSync(new URL("../docs/host-calls.md", import.meta.url), "utf8");

/** The rows below a heading of the second level, those of its subheadings among them. */
export function hostCalls(title: Forge["title"]): readonly HostCall[] {
  const [, part = ""] = page.split(`\n## ${title}\n`);
  const [own = ""] = part.split("\n## ");
  return own.split("\n").flatMap((line) => {
    const [, call = "", requests = "", needs = "", link = ""] = line.split(" | ").join("|").split("|");
    const [, address] = /\]\((https:[^)]+)\)/.exec(link) ?? [];
    if (address === undefined) return [];
    const [read, made] = [call.trim(), [...requests.matchAll(/`([A-Z]+ \/[^`]*)`/g)].map(([, one = ""]) => one)];
    return [{ call: read, requests: made, needs: needs.trim(), link: address }];
  });
}

/** Pages that people open in their browsers when they log in or register the App. */
const BROWSED =
  /^\/(login\/oauth\/authorize|oauth\/authorize|settings\/apps|organizations\/|apps\/|users\/sign_in|sandbox\/)/;

/** What git asks of a server whose answer is not one of git's. */
const DUMB_GIT = ".git/HEAD";

interface Compared {
  /** Requests that not exactly one row describes. */
  readonly undescribed: readonly string[];
  /** Requests of rows that nobody made. */
  readonly unmade: readonly string[];
}

/** Compares what was asked of a code host with its table. */
export function compareCalls({ title, requests }: Pick<Forge, "title" | "requests">): Compared {
  const rows = hostCalls(title).flatMap((row) => row.requests.map((text) => ({ text, pattern: patternOf(text) })));
  const made = new Set(
    requests
      .filter(({ path }) => !BROWSED.test(path) && !path.endsWith(DUMB_GIT))
      .map(({ method, path }) => `${method} ${belowRoot(path)}`),
  );
  return {
    undescribed: [...made].filter((one) => rows.filter(({ pattern }) => pattern.test(one)).length !== 1),
    unmade: rows.filter(({ pattern }) => ![...made].some((one) => pattern.test(one))).map(({ text }) => text),
  };
}

/** Below the root of the API. GitHub leads from the old name of a repository to its id. */
function belowRoot(path: string): string {
  return path.replace(/^\/api(\/v[34])?(?=\/)/, "").replace(/^\/repositories\/\d+/, "/repos/x/x");
}

/** A parameter is one segment, but for the path of a repository in a clone URL. */
function patternOf(request: string): RegExp {
  const text = request
    .replace(/[.*+?^$()|[\]\\]/g, "\\$&")
    .replace(/\{(\w+)\}/g, (_all, name: string) => (name === "repository" ? ".+" : "[^/]+"));
  return new RegExp(`^${text}$`);
}
