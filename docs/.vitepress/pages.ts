import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** The repository's root. */
export const ROOT = fileURLToPath(new URL("../..", import.meta.url));

const DECISIONS = "docs/adr/README.md";

/** What the sidebar lists. The decisions stand below their list. */
const SECTIONS: readonly { readonly title: string; readonly files: readonly string[] }[] = [
  {
    title: "Use",
    files: [
      "docs/welcome.md",
      "docs/trial.md",
      "docs/installation.md",
      "docs/without-kubernetes.md",
      "docs/commands.md",
      "docs/replies.md",
      "docs/checks.md",
      "docs/holds.md",
      "docs/sync-on-approval.md",
      "docs/stages.md",
      "docs/merge-queues.md",
      "docs/after-the-merge.md",
      "docs/reverts.md",
      "docs/notifications.md",
    ],
  },
  { title: "Tasks", files: markdownIn("docs/tasks") },
  {
    title: "Look up",
    files: [
      "docs/configuration.md",
      "deploy/chart/README.md",
      "docs/api.md",
      "docs/operations.md",
      "docs/security.md",
      "docs/host-calls.md",
    ],
  },
  { title: "Understand", files: ["docs/how-it-works.md", "docs/comparison.md", "docs/benchmarks.md", DECISIONS] },
  { title: "Project", files: ["CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"] },
];

/** Pages whose path is not that of their file below docs/. */
const MOVED: Readonly<Record<string, string>> = {
  "docs/welcome.md": "index.md",
  "deploy/chart/README.md": "chart.md",
  [DECISIONS]: "adr/index.md",
  "CHANGELOG.md": "changelog.md",
  "CONTRIBUTING.md": "contributing.md",
  "SECURITY.md": "security-policy.md",
};

const decisions = markdownIn("docs/adr").filter((file) => file !== DECISIONS);
const files = new Set([...SECTIONS.flatMap((section) => section.files), ...decisions]);

/** The page that a file of the repository becomes, relative to the site's root; undefined for what is no page. */
export function pageOf(file: string): string | undefined {
  return files.has(file) ? (MOVED[file] ?? file.replace(/^docs\//, "")) : undefined;
}

/** Files that the site has as they are, at the same path, for editors and programs. */
export const PUBLISHED: readonly string[] = ["openapi.yaml", ...filesIn("schemas")];

interface SidebarItem {
  readonly text: string;
  readonly link?: string;
  readonly collapsed?: boolean;
  readonly items?: SidebarItem[];
}

/**
 * The sidebar, with the first heading of each file as its text.
 * @throws {Error} that names a file in docs/ or deploy/ that no section lists.
 */
export function sidebar(): SidebarItem[] {
  const unlisted = ["docs", "deploy"].flatMap((folder) => markdownIn(folder)).filter((file) => !files.has(file));
  if (unlisted.length > 0) throw new Error(`list ${unlisted.join(", ")} in docs/.vitepress/pages.ts`);
  return SECTIONS.map(({ title, files: listed }) => ({ text: title, items: listed.map(itemOf) }));
}

function itemOf(file: string): SidebarItem {
  const item = { text: file === "docs/welcome.md" ? "What svc does" : titleOf(file), link: `/${pageOf(file) ?? ""}` };
  return file === DECISIONS ? { ...item, collapsed: true, items: decisions.map(itemOf) } : item;
}

function titleOf(file: string): string {
  return /^# (.+)$/m.exec(readFileSync(`${ROOT}${file}`, "utf8"))?.[1]?.replaceAll("`", "") ?? file;
}

function markdownIn(folder: string): readonly string[] {
  return filesIn(folder).filter((name) => name.endsWith(".md"));
}

function filesIn(folder: string): readonly string[] {
  return readdirSync(`${ROOT}${folder}`, { recursive: true, encoding: "utf8" })
    .map((name) => `${folder}/${name}`)
    .sort();
}

/** Folders and files that hold no pages, as patterns. */
export function withoutPages(): string[] {
  const folders = new Set([...files].map((file) => file.split("/")[0]));
  return readdirSync(ROOT).flatMap((name) => (folders.has(name) ? [] : [name, `${name}/**`]));
}
