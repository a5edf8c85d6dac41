/** One metric as a scrape shows it. */
export interface Scraped {
  readonly type: string;
  readonly help: string;
  readonly samples: readonly Sample[];
}

export interface Sample {
  /** The metric's name, or with a suffix of a histogram: `_bucket`, `_sum`, `_count`. */
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** What stands at `/metrics` of this port, by the name of the metric. */
export async function scrape(port: number): Promise<ReadonlyMap<string, Scraped>> {
  const response = await fetch(`http://127.0.0.1:${port}/metrics`);
  if (!response.ok) throw new Error(`the scrape was answered ${response.status}`);
  return parseExposition(await response.text());
}

/** https://github.com/prometheus/docs/blob/main/docs/instrumenting/exposition_formats.md */
function parseExposition(text: string): ReadonlyMap<string, Scraped> {
  const found = new Map<string, { type: string; help: string; samples: Sample[] }>();
  const metricOf = (name: string) => {
    const metric = found.get(name) ?? { type: "untyped", help: "", samples: [] };
    found.set(name, metric);
    return metric;
  };
  for (const line of text.split("\n")) {
    const [, kind, named = "", rest = ""] = /^# (HELP|TYPE) (\S+) (.*)$/.exec(line) ?? [];
    if (kind === "HELP") metricOf(named).help = rest;
    else if (kind === "TYPE") metricOf(named).type = rest;
    else if (line !== "") {
      const [, name = "", labels = "", value = ""] = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$/.exec(line) ?? [];
      const base = found.has(name) ? name : name.replace(/_(?:bucket|sum|count)$/, "");
      metricOf(base).samples.push({ name, labels: parseLabels(labels), value: Number(value) });
    }
  }
  return found;
}

function parseLabels(text: string): Readonly<Record<string, string>> {
  const pairs = [...text.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)];
  return Object.fromEntries(pairs.map(([, name = "", value = ""]): readonly [string, string] => [name, value]));
}

/** Sum of the samples with this name and at least these labels. */
export function valueOf(
  scraped: ReadonlyMap<string, Scraped>,
  name: string,
  labels: Readonly<Record<string, string>> = {},
): number {
  const samples = [...scraped.values()].flatMap((metric) => metric.samples);
  return samples
    .filter((sample) => sample.name === name)
    .filter((sample) => Object.entries(labels).every(([label, value]) => sample.labels[label] === value))
    .reduce((sum, sample) => sum + sample.value, 0);
}
