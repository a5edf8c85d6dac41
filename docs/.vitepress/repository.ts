import { readFileSync } from "node:fs";
import { ROOT } from "./pages.js";

/** svc's version, of package.json. */
export const { version: VERSION } = JSON.parse(readFileSync(`${ROOT}package.json`, "utf8")) as {
  readonly version: string;
};

/** Address of the repository; a pipeline sets it. */
const SOURCE = process.env.SVC_DOCS_SOURCE ?? "https://git.example.org/acme/svc";

/** Address of the site, without a slash at its end; a pipeline sets it. */
export const SITE = (process.env.SVC_DOCS_URL ?? "https://docs.example.org").replace(/\/$/, "");

/** How the documents write that address, since they cannot know it. */
export const SITE_IN_TEXTS = "https://OWNER.github.io/svc";

/** Whether the repository lies on GitLab, which has its own pages below `/-/`. */
const ON_GITLAB = process.env.GITLAB_CI !== undefined;
const PAGES = `${SOURCE}${ON_GITLAB ? "/-" : ""}`;

export const REPOSITORY = {
  source: SOURCE,
  icon: ON_GITLAB ? "gitlab" : "github",
  releases: `${PAGES}/releases`,
  /** `:path` stands for the file. */
  edit: `${PAGES}/edit/main/:path`,
} as const;

/** The page of a file or folder, as it was when this version was released. */
export function fileUrl(path: string): string {
  return `${PAGES}/blob/v${VERSION}/${path}`;
}
