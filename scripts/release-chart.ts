import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseDocument } from "yaml";
import { runTool } from "../test/deploy/deploy-tool.js";
import { ROOT } from "./generated-files.js";

/** What only a release knows of the chart: where it comes from, and which image it installs. */
export interface ChartRelease {
  readonly tag: string;
  /** Address of the repository, without a slash at its end. */
  readonly source: string;
  /** What the path of a file's page begins with there: GitLab has its own pages below `/-/`. */
  readonly pages: "/" | "/-/";
  readonly image?: { readonly repository: string; readonly digest: string };
}

/** Packages the chart into `folder`. */
export function packageChart(release: ChartRelease, folder: string): void {
  const work = mkdtempSync(join(tmpdir(), "svc-chart-"));
  try {
    const chart = join(work, "svc");
    cpSync(`${ROOT}deploy/chart`, chart, { recursive: true, dereference: true });
    for (const [name, change] of CHANGES) {
      writeFileSync(join(chart, name), change(readFileSync(join(chart, name), "utf8"), release));
    }
    const { ok, stderr } = runTool("helm", ["package", chart, "--destination", folder]);
    if (!ok) throw new Error(stderr);
  } finally {
    rmSync(work, { recursive: true });
  }
}

const CHANGES: readonly (readonly [string, (text: string, release: ChartRelease) => string])[] = [
  ["Chart.yaml", releasedChart],
  ["values.yaml", releasedValues],
  ["README.md", releasedReadme],
];

function releasedChart(text: string, { tag, source, pages }: ChartRelease): string {
  const chart = parseDocument(text);
  chart.set("home", source);
  chart.set("sources", [source]);
  chart.set("icon", `${source}${pages}raw/${tag}/views/assets/icon.svg`);
  return chart.toString();
}

function releasedValues(text: string, { image }: ChartRelease): string {
  if (image === undefined) return text;
  const values = parseDocument(text);
  values.setIn(["image", "repository"], image.repository);
  values.setIn(["image", "digest"], image.digest);
  return values.toString({ lineWidth: 0 });
}

/** The page stands alone in the package: its links lead to the repository. */
function releasedReadme(text: string, { tag, source, pages }: ChartRelease): string {
  return text.replaceAll("](../../", `](${source}${pages}blob/${tag}/`);
}
