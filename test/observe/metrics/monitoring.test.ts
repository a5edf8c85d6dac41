import { readFileSync } from "node:fs";
import { beforeAll, describe, expect, test } from "@jest/globals";
import { parse } from "yaml";
import { z } from "zod";
import { StoreUnavailable } from "../../../src/core/model/errors.js";
import { wrapPort } from "../../../src/observe/wrap-port.js";
import { WATCH_EVERY_MS } from "../../../src/service/system-watch.js";
import { createMemoryStores } from "../../../src/store/memory/memory-stores.js";
import { freePort } from "../../redis-server.js";
import { startBot } from "../../scenarios/bot.js";
import { HookReceiver } from "../../scenarios/hook-receiver.js";
import { changeOf } from "../../scenarios/resources.js";
import { tableUnder } from "./markdown-table.js";
import { scrape, type Scraped } from "./scrape.js";

const read = (path: string) => readFileSync(new URL(`../../../${path}`, import.meta.url), "utf8");

/** Labels that Prometheus adds, or that belong to a histogram. */
const ADDED = ["job", "instance", "le"];

let exported: ReadonlyMap<string, Scraped>;
/** What it exports before anything happened. */
let fresh: ReadonlyMap<string, Scraped>;

/** What a service exports after a conversation in which a bit of everything happened. */
beforeAll(async () => {
  const port = await freePort();
  const receiver = await HookReceiver.start();
  let away = false;
  const bot = await startBot({
    host: "hosta",
    compute: "own",
    config: ({ argocd }) => ({
      deployer: { token: argocd.addAccount("ci", { permissions: "all", expires: new Date("2100-01-01") }) },
      server: { metrics_port: port },
      checks: [{ name: "trivial", command: ["true"] }],
      notifications: [{ name: "chat", url: `${receiver.url}/hook`, format: "slack" }],
    }),
    stores: (clock) => {
      const stores = createMemoryStores(clock);
      const deployments = wrapPort(stores.deployments, (_method, run) =>
        away ? Promise.reject(new StoreUnavailable("failed to connect to Redis")) : run(),
      );
      return { ...stores, deployments };
    },
  });
  fresh = await scrape(port);
  const one = await bot.open({ ...changeOf(["web"]), "long.yaml": "# argoproj.io/ Application\n".repeat(100) });
  bot.expectChanges("sync web");
  await bot.comment(one, "svc sync");
  await receiver.until(1);
  away = true;
  await bot.comment(one, "svc plan");
  away = false;
  bot.argocd.faults.add({ path: /\/manifests/, fault: { kind: "status", status: 403 } });
  await bot.comment(one, "svc plan");
  await fetch(`${bot.service.url}/webhook/hosta`, { method: "POST", body: "{}" });
  const limit = { kind: "status", status: 429, headers: { "retry-after": "30" } } as const;
  bot.forge.faults.add({ method: "POST", path: /\/comments$/, times: 1, fault: limit });
  await bot.comment(one, "svc unlock");
  exported = await scrape(port);
  await bot.end();
  await receiver.stop();
});

function labelsOf({ samples }: Scraped): readonly string[] {
  const names = samples.flatMap(({ labels }) => Object.keys(labels));
  return [...new Set(names)].filter((name) => !ADDED.includes(name)).sort();
}

interface Reference {
  readonly metric: string;
  readonly labels: readonly string[];
}

/** Metrics and labels in an expression of PromQL, read as far as ours go. */
function referencesIn(expression: string): readonly Reference[] {
  const grouped = [...expression.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, list = ""]) => list.split(/, */));
  return [...expression.matchAll(/\b((?:svc|process|nodejs)_\w+)(?:\{([^}]*)\})?/g)].map(
    ([, metric = "", matchers]) => ({
      metric,
      labels: [...grouped, ...[...(matchers ?? "").matchAll(/(\w+)\s*=~?/g)].map(([, label = ""]) => label)],
    }),
  );
}

/** The metric that a name in an expression belongs to. */
function exportedBy(name: string): Scraped | undefined {
  return exported.get(name) ?? exported.get(name.replace(/_(?:bucket|sum|count)$/, ""));
}

function unknownIn(expressions: readonly string[]): readonly string[] {
  return expressions.flatMap(referencesIn).flatMap(({ metric, labels }) => {
    const found = exportedBy(metric);
    if (found === undefined) return [`${metric} is not exported`];
    const known = new Set([...labelsOf(found), ...ADDED]);
    return labels.filter((label) => !known.has(label)).map((label) => `${metric} has no label ${label}`);
  });
}

const dashboard = z.object({
  panels: z.array(
    z.object({ title: z.string(), targets: z.array(z.object({ expr: z.string() })).min(1), gridPos: z.object({}) }),
  ),
  templating: z.object({ list: z.array(z.object({ name: z.string() })) }),
});

const alerts = z.object({
  groups: z.array(
    z.object({
      rules: z.array(
        z.strictObject({
          alert: z.string().regex(/^Svc[A-Za-z]+$/),
          expr: z.string(),
          for: z.string().optional(),
          labels: z.object({ severity: z.enum(["warning", "critical"]) }),
          annotations: z.strictObject({ summary: z.string(), description: z.string() }),
        }),
      ),
    }),
  ),
});

describe("the dashboard", () => {
  const { panels, templating } = dashboard.parse(JSON.parse(read("deploy/monitoring/dashboard.json")));
  const expressions = panels.flatMap(({ targets }) => targets.map(({ expr }) => expr));

  test("names only metrics and labels that a running service exports", () => {
    expect(expressions.flatMap(referencesIn).length).toBeGreaterThan(15);
    expect(unknownIn(expressions)).toEqual([]);
  });

  test("shows every metric of ours, and uses only variables that it has", () => {
    const shown = new Set(expressions.flatMap(referencesIn).map(({ metric }) => exportedBy(metric)));
    expect(
      ours()
        .filter(([, metric]) => !shown.has(metric))
        .map(([name]) => name),
    ).toEqual([]);
    const variables = new Set(["__rate_interval", ...templating.list.map(({ name }) => name)]);
    const used = expressions.flatMap((text) => [...text.matchAll(/\$(\w+)/g)].map(([, name = ""]) => name));
    expect(used.filter((name) => !variables.has(name))).toEqual([]);
  });
});

describe("the alert rules", () => {
  const rules = alerts.parse(parse(read("deploy/monitoring/alerts.yaml"))).groups.flatMap((group) => group.rules);

  test("name only metrics and labels that a running service exports", () => {
    expect(rules.length).toBeGreaterThan(5);
    expect(unknownIn(rules.map(({ expr }) => expr))).toEqual([]);
  });

  test("select only values that the documents know", () => {
    const meanings = new Map(
      tableUnder(read("docs/operations.md"), "Metrics").map(([name = "", , , text = ""]) => [name, text]),
    );
    const wrong = rules.flatMap(({ expr }) =>
      [...expr.matchAll(/(svc_\w+)\{([^}]*)\}/g)].flatMap(([, metric = "", matchers = ""]) =>
        [...matchers.matchAll(/(outcome|kind|reason)=~?"([^"]*)"/g)]
          .flatMap(([, , values = ""]) => values.split("|"))
          .filter((value) => !(meanings.get(`\`${metric}\``) ?? "").includes(`\`${value}\``)),
      ),
    );
    expect(wrong).toEqual([]);
  });

  test("find what they count the increase of before it happens: a first sample is none", () => {
    const counted = rules.flatMap(({ expr }) => [...expr.matchAll(/increase\((svc_\w+)\{([^}]*)\}/g)]);
    expect(counted.length).toBeGreaterThan(4);
    for (const [, metric = "", matchers = ""] of counted) {
      const selected = [...matchers.matchAll(/(outcome|kind|reason)=~?"([^"]*)"/g)].map(
        ([, label = "", values = ""]) => {
          return { label, values: values.split("|") };
        },
      );
      const find = (scraped: typeof fresh) =>
        (scraped.get(metric)?.samples ?? []).filter(({ labels }) =>
          selected.every(({ label, values }) => values.includes(labels[label] ?? "")),
        );
      const begun = find(fresh);
      for (const { label, values } of selected) {
        expect([...new Set(begun.map(({ labels }) => labels[label]))].sort()).toEqual([...values].sort());
      }
      expect(new Set(begun.map(({ value }) => value))).toEqual(new Set([0]));
      expect(begun.map(({ labels }) => labels)).toEqual(
        expect.arrayContaining(find(exported).map(({ labels }) => labels)),
      );
    }
  });

  test("leave out a restart of Argo CD within a minute, and see an outage that lasts by the looks of each minute", () => {
    const { expr = "", for: wait = "" } = rules.find(({ alert }) => alert === "SvcDeployerUnreachable") ?? {};
    const [, range = ""] = /\{[^}]*reason="unreachable"\}\[(\d+)m\]\)\) > 0$/.exec(expr) ?? [];
    const minute = WATCH_EVERY_MS / 60_000;
    expect(Number(range)).toBeGreaterThan(minute * 2);
    expect(parseInt(wait, 10)).toBeGreaterThan(Number(range) + minute);
  });

  test.each([
    ["in-place", "unauthenticated", true],
    ["in-place", "forbidden", true],
    ["temporary", "unauthenticated", true],
    // The account may lack `create` on purpose.
    ["temporary", "forbidden", false],
  ])("of a refused token count a render in the mode %s that is %s: %s", (mode, reason, isCounted) => {
    const { expr = "" } = rules.find(({ alert }) => alert === "SvcDeployerRefusesToken") ?? {};
    const render: Readonly<Record<string, string>> = { job: "svc", mode, reason };
    const selectors = [...expr.matchAll(/svc_render_errors_total\{([^}]*)\}/g)].map(([, matchers = ""]) => [
      ...matchers.matchAll(/(\w+)=~?"([^"]*)"/g),
    ]);
    const counting = selectors.filter((all) =>
      all.every(([, label = "", values = ""]) => values.split("|").includes(render[label] ?? "")),
    );
    expect(counting).toHaveLength(isCounted ? 1 : 0);
  });

  test("say in one sentence and in text what to do, and mention only labels that the expression leaves", () => {
    for (const { expr, annotations } of rules) {
      const kept = new Set([...expr.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, list = ""]) => list.split(/, */)));
      const used = [...annotations.summary.matchAll(/\$labels\.(\w+)/g)].map(([, label = ""]) => label);
      expect(used.filter((label) => !kept.has(label))).toEqual([]);
    }
  });
});

function ours(): readonly (readonly [string, Scraped])[] {
  return [...exported].filter(([name]) => name.startsWith("svc_"));
}

test("the table of metrics in the documents has every metric with its type and labels, and no other", () => {
  const written = tableUnder(read("docs/operations.md"), "Metrics").map(([name = "", type, labels = ""]) => ({
    name: name.replaceAll("`", ""),
    type,
    labels: [...labels.matchAll(/`(\w+)`/g)].map(([, label]) => label).sort(),
  }));
  const found = ours().map(([name, metric]) => ({ name, type: metric.type, labels: labelsOf(metric) }));
  const byName = (left: { name: string }, right: { name: string }) => (left.name < right.name ? -1 : 1);
  expect([...written].sort(byName)).toEqual([...found].sort(byName));
});

test("names follow Prometheus's conventions: base units, `_total` for counters, a help text", () => {
  for (const [name, { type, help }] of ours()) {
    expect(name).toMatch(/^svc_[a-z]+(?:_[a-z]+)*$/);
    expect(name.endsWith("_total")).toBe(type === "counter");
    if (name.includes("duration") || name.includes("age")) expect(name).toMatch(/_seconds$/);
    expect(help).not.toBe("");
  }
});
