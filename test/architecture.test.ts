import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "@jest/globals";
import ts from "typescript";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const SOURCE = join(ROOT, "src");

/** The rooms of `src`, one row each. Imports only point to an earlier row; rooms of one row never import each other. */
const ROWS: readonly (readonly string[])[] = [
  ["names", "http"],
  ["core/model"],
  ["config"],
  ["core/ports"],
  ["core/detect/yaml"],
  ["core/detect/tree"],
  ["core/detect/inputs"],
  ["core/detect/scan"],
  ["core/secrets"],
  ["core/diff"],
  ["core/render", "core/deploy"],
  ["core/survey"],
  ["core/policy"],
  ["core/facts"],
  ["core/commands"],
  ["comments"],
  ["queue", "git", "deployer", "store", "hosts", "notifications"],
  ["workers"],
  ["observe"],
  ["run"],
  ["web"],
  ["service"],
  ["setup"],
  ["main"],
];

/** Longer than 60 lines: factories that wire or return functions over shared variables, and switches with a text a case. */
const LONG_FUNCTIONS = new Set([
  "src/comments/refusal.ts: paragraphsOf",
  "src/core/detect/inputs/snapshot.ts: listTree",
  "src/deployer/argocd/application-api.ts: createSemaphore",
  "src/deployer/argocd/client.ts: createClient",
  "src/deployer/argocd/render.ts: createRender",
  "src/deployer/argocd/sync.ts: createSync",
  "src/deployer/argocd/trials.ts: createTrials",
  "src/hosts/github/client.ts: createGitHubClient",
  "src/hosts/gitlab/client.ts: createGitLabClient",
  "src/observe/metrics/metrics.ts: createMetrics",
  "src/service/chores.ts: createChores",
  "src/service/service.ts: start",
  "src/setup/registration-site.ts: registrationSite",
  "src/workers/check-runner.ts: createCheckRunner",
  "src/workers/worker-pool.ts: createWorkerPool",
]);

/** Folders that hold nothing but rooms. */
const SHELLS = new Set(["core", "core/detect"]);

interface SourceFile {
  readonly path: string;
  readonly room: string;
  readonly imports: readonly string[];
  /** Those of more than types. */
  readonly loads: readonly string[];
  readonly lines: number;
  readonly text: string;
}

function read(folder: string): readonly SourceFile[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts"))
    .map((name) => {
      const path = join(folder, name);
      const text = readFileSync(path, "utf8");
      const targets = [...text.matchAll(/^(?:import|export)( type)?\b[^;]*?from "(\.[^"]+)";$/gm)].map(
        ([, type, specifier = ""]) => ({ type, target: resolve(dirname(path), specifier.replace(/\.js$/, ".ts")) }),
      );
      const imports = targets.map(({ target }) => target);
      const loads = targets.flatMap(({ type, target }) => (type === undefined ? [target] : []));
      return { path, room: roomOf(path), imports, loads, text, lines: text.split("\n").length };
    });
}

/** The folder that is not a shell: `web` for `src/web/api/holds.ts`, `core/detect/scan` for `src/core/detect/scan/affected.ts`. */
function roomOf(path: string): string {
  const steps = relative(SOURCE, path).replace(/\.ts$/, "").split("/");
  const depth = steps.findIndex((_, index) => !SHELLS.has(steps.slice(0, index + 1).join("/")));
  return steps.slice(0, depth + 1).join("/");
}

/** The functions of more than 60 lines, by file and name. */
function longFunctions({ path, text }: SourceFile): readonly string[] {
  const file = ts.createSourceFile(path, text, ts.ScriptTarget.ES2023, true);
  const lineAt = (position: number) => file.getLineAndCharacterOfPosition(position).line;
  const found: string[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isFunctionLike(node) && lineAt(node.getEnd()) - lineAt(node.getStart(file)) >= 60) {
      found.push(`${nameOf(path)}: ${node.name?.getText(file) ?? "(no name)"}`);
    }
    ts.forEachChild(node, visit);
  };
  visit(file);
  return found;
}

const files = read(SOURCE);
const rank = (room: string) => ROWS.findIndex((row) => row.includes(room));
const nameOf = (path: string) => relative(ROOT, path);

describe("imports only point up the list", () => {
  test("every room of src stands in the list, and every row is a room", () => {
    const rooms = new Set(files.map(({ room }) => room));
    expect([...rooms].sort()).toEqual(ROWS.flat().sort());
    expect(files.length).toBeGreaterThan(50);
  });

  test("only main and names are loose", () => {
    const loose = files.map(({ path }) => relative(SOURCE, path)).filter((name) => !name.includes("/"));
    expect(loose.sort()).toEqual(["main.ts", "names.ts"]);
  });

  test("no import points down, and rooms of one row do not know each other", () => {
    const wrong = files.flatMap(({ path, room, imports }) =>
      imports.flatMap((target) => {
        const other = roomOf(target);
        const allowed = other === room || rank(other) < rank(room);
        return allowed ? [] : [`${nameOf(path)} imports ${nameOf(target)}`];
      }),
    );
    expect(wrong).toEqual([]);
  });

  test("no file imports itself through others; outside of src types may", () => {
    expect(cyclesIn(new Map(files.map(({ path, imports }) => [path, imports])))).toEqual([]);
    const all = ["src", "sandbox", "demo", "test", "bench", "scripts"].flatMap((folder) => read(join(ROOT, folder)));
    expect(all.length).toBeGreaterThan(1000);
    expect(cyclesIn(new Map(all.map(({ path, loads }) => [path, loads])))).toEqual([]);
  });

  test("a cycle is found", () => {
    const imports = new Map([
      [join(ROOT, "a.ts"), [join(ROOT, "b.ts")]],
      [join(ROOT, "b.ts"), [join(ROOT, "c.ts"), join(ROOT, "d.ts")]],
      [join(ROOT, "d.ts"), [join(ROOT, "b.ts")]],
    ]);
    expect(cyclesIn(imports)).toEqual(["b.ts -> d.ts -> b.ts"]);
  });
});

/** Files that import themselves through others, each with the way. */
function cyclesIn(imports: ReadonlyMap<string, readonly string[]>): readonly string[] {
  const done = new Set<string>();
  const cycles: string[] = [];
  const visit = (path: string, trail: readonly string[]): void => {
    if (trail.includes(path)) cycles.push([...trail.slice(trail.indexOf(path)), path].map(nameOf).join(" -> "));
    if (done.has(path) || trail.includes(path)) return;
    for (const target of imports.get(path) ?? []) visit(target, [...trail, path]);
    done.add(path);
  };
  for (const path of imports.keys()) visit(path, []);
  return cycles;
}

describe("the sandbox and the service do not know each other", () => {
  const sandbox = read(join(ROOT, "sandbox"));

  test("nothing in src imports the sandbox or the tests", () => {
    const wrong = files.filter(({ imports }) => imports.some((target) => !target.startsWith(SOURCE)));
    expect(wrong.map(({ path }) => nameOf(path))).toEqual([]);
  });

  test("nothing in the sandbox imports src or the demo, which starts the service", () => {
    const sandboxFolder = join(ROOT, "sandbox");
    const wrong = sandbox.filter(({ imports }) => imports.some((target) => !target.startsWith(`${sandboxFolder}/`)));
    expect(sandbox.length).toBeGreaterThan(20);
    expect(wrong.map(({ path }) => nameOf(path))).toEqual([]);
  });
});

describe("the house", () => {
  test("only main and the configuration read the environment", () => {
    const readers = files.filter(({ text }) => text.includes("process.env")).map(({ path }) => nameOf(path));
    expect(readers.filter((path) => path !== "src/main.ts" && !path.startsWith("src/config/"))).toEqual([]);
  });

  test("the judgement is pure: nothing in its room asks a port", () => {
    const asking = files
      .filter(({ room }) => room === "core/policy")
      .filter(({ imports }) => imports.some((target) => roomOf(target) === "core/ports"));
    expect(asking.map(({ path }) => nameOf(path))).toEqual([]);
  });

  test("the service loads nothing of setup: main alone does, when it is asked for it", () => {
    const naming = files.filter(({ room, text }) => room !== "setup" && /"[^"]*\/setup\/[^"]*"/.test(text));
    expect(naming.map(({ path }) => nameOf(path))).toEqual(["src/main.ts"]);
    expect(naming.flatMap(({ imports }) => imports.map(roomOf))).not.toContain("setup");
  });

  test("every file holds one thing: none is longer than 400 lines, none is named after nothing", () => {
    const all = [...files, ...read(join(ROOT, "sandbox")), ...read(join(ROOT, "demo"))];
    expect(all.filter(({ lines }) => lines > 401).map(({ path, lines }) => `${nameOf(path)}: ${lines}`)).toEqual([]);
    expect(all.filter(({ path }) => /\/(utils?|helpers?|common|types|manager)\.ts$/.test(path))).toEqual([]);
  });

  test("no function is longer than 60 lines, but for the factories and switches that are listed", () => {
    const long = files.filter(({ lines }) => lines > 60).flatMap(longFunctions);
    expect(long.sort()).toEqual([...LONG_FUNCTIONS].sort());
  });

  test("every module of the build that chaos rounds and benchmarks load by name has a source", () => {
    const texts = ["bench", "test/chaos"].flatMap((folder) =>
      readdirSync(join(ROOT, folder))
        .filter((name) => /\.[jt]s$/.test(name))
        .map((name) => readFileSync(join(ROOT, folder, name), "utf8")),
    );
    const named = texts.flatMap((text) =>
      [...text.matchAll(/\bbuilt(?:Module<[^(]+>)?\("([\w/-]+)\.js"\)/g)].map(([, name = ""]) => `src/${name}.ts`),
    );
    expect(named.length).toBeGreaterThan(8);
    const sources = new Set(files.map(({ path }) => nameOf(path)));
    expect(named.filter((name) => !sources.has(name))).toEqual([]);
  });

  test("there is no default export and no type set aside", () => {
    const wrong = files.filter(({ text }) =>
      /^export default|: any\b|as any\b|as unknown as|(?:eslint|oxlint)-disable|@ts-/m.test(text),
    );
    expect(wrong.map(({ path }) => nameOf(path))).toEqual([]);
  });

  test("Zod is imported as a namespace, since a bundle keeps all of `{ z }`", () => {
    const whole = files.filter(({ text }) => /^import (?:z\b|\{[^}]*\bz\b[^}]*\}) from "zod"/m.test(text));
    expect(whole.map(({ path }) => nameOf(path))).toEqual([]);
  });

  test("nothing names a host outside of the rooms that know hosts, and the line of an event fits a page", () => {
    const strangers = files.filter(
      ({ path }) => !/^src\/(?:hosts|config|service|setup|web\/auth|names)/.test(nameOf(path)),
    );
    const naming = strangers.filter(({ text }) => /[gG]it[hH]ub|[gG]it[lL]ab|hosta|hostb/.test(text));
    expect(naming.map(({ path }) => nameOf(path))).toEqual([]);
    const line = files.find(({ path }) => nameOf(path) === "src/run/line/handle-event.ts");
    expect(line?.text.trimEnd().split("\n").length).toBeLessThanOrEqual(60);
  });

  test("no text calls a change request what one host calls it, but for the replies that the specification quotes", () => {
    const views = readdirSync(join(ROOT, "views")).filter((name) => name.endsWith(".ejs"));
    const texts = [
      ...files.map(({ path, text }) => ({ path, text: text.replace(/^\s*(?:\/\/|\/?\*).*$/gm, "") })),
      ...views.map((name) => ({
        path: join(ROOT, "views", name),
        text: readFileSync(join(ROOT, "views", name), "utf8"),
      })),
    ].filter(({ path }) => !/^src\/(?:hosts|config|store|names)/.test(nameOf(path)));
    const quoted =
      /Locked by PR #|Locked by this PR|No applications are locked by this PR\.|PR must be approved before sync"|PR has merge conflicts,/g;
    const wrong = texts.flatMap(({ path, text }) =>
      [...text.replace(quoted, "").matchAll(/\b(?:PR|MR)s?\b|\b(?:pull|merge) requests?\b/gi)].map(
        ([found]) => `${nameOf(path)}: ${found}`,
      ),
    );
    expect(views.length).toBeGreaterThan(5);
    expect(wrong).toEqual([]);
  });

  test("the wire words stand in names.ts alone", () => {
    const wrong = files.filter(
      ({ path, text }) =>
        !path.endsWith("/names.ts") && /"(?:svc[":.-]|\.svc|svc_session|x-hostb-token|\/webhook\/)/i.test(text),
    );
    expect(wrong.map(({ path }) => nameOf(path))).toEqual([]);
  });
});
