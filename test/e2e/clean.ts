import { z } from "zod";
import { LABELS } from "../../src/names.js";
import { ArgoCdProblem, type ArgoCdApi } from "./argocd-api.js";
import { anything, projects, RUN_LABEL, runName } from "./own-objects.js";
import { waitFor, type Waiting } from "./waiting.js";

const GONE_MS = 120_000;

const applications = z.object({
  items: z
    .array(
      z.object({
        metadata: z.object({
          name: z.string(),
          labels: z.record(z.string(), z.string()).nullish(),
          annotations: z.record(z.string(), z.string()).nullish(),
        }),
        spec: z.object({ project: z.string() }),
      }),
    )
    .nullish(),
});

interface Found {
  readonly name: string;
  readonly project: string;
  /** A temporary Application of svc, which deployed nothing. */
  readonly temporary: boolean;
}

/** What is left of a run after cleaning. */
export interface Cleaned {
  /** What was removed, for people. */
  readonly removed: readonly string[];
  /** A sentence for each thing that could not be removed. */
  readonly left: readonly string[];
}

/** The name of the application that deploys the run's namespace; it goes last. */
export function namespaceApplication(id: string): string {
  return `${runName(id)}-namespace`;
}

/** Ids of the runs that have something in Argo CD, as far as the token may see it. */
export async function runsIn(api: ArgoCdApi): Promise<readonly string[]> {
  const { items: own } = await api.call({ method: "GET", path: "/api/v1/projects" }, projects);
  const query = { selector: RUN_LABEL };
  const { items: apps } = await api.call({ method: "GET", path: "/api/v1/applications", query }, applications);
  const ids = [...(own ?? []), ...(apps ?? [])].flatMap(({ metadata }) => {
    const id = metadata.labels?.[RUN_LABEL] ?? "";
    return isId(id) && `${metadata.name}-`.startsWith(`${runName(id)}-`) ? [id] : [];
  });
  return [...new Set(ids)].sort();
}

function isId(text: string): boolean {
  return /^[0-9a-f]{6}$/.test(text);
}

/** Removes a run's applications with what they deployed, its namespace and its project. Tries everything, and never throws. */
export async function clean(api: ArgoCdApi, id: string, waiting: Waiting): Promise<Cleaned> {
  const removed: string[] = [];
  const left: string[] = [];
  const attempt = async (what: string, act: () => Promise<unknown>): Promise<boolean> => {
    try {
      await act();
      return true;
    } catch (error) {
      left.push(`${what} could not be removed: ${error instanceof Error ? error.message : String(error)}`);
      return false;
    }
  };
  const gone = async (chosen: (one: Found) => boolean): Promise<void> => {
    let found: readonly Found[] = [];
    if (!(await attempt("applications", async () => (found = (await foundOf(api, id)).filter(chosen))))) return;
    const told = await Promise.all(
      found.map(async (one) => ((await attempt(`application ${one.name}`, () => remove(api, one))) ? [one.name] : [])),
    );
    const names = new Set(told.flat());
    for (const name of names) {
      const look = async () => ((await foundOf(api, id)).some((one) => one.name === name) ? undefined : true);
      const wait = () => waitFor(look, "Argo CD did not finish deleting it", GONE_MS, waiting);
      if (await attempt(`application ${name}`, wait)) removed.push(`application ${name}`);
    }
  };
  const last = namespaceApplication(id);
  await gone(({ name }) => name !== last);
  await gone(({ name }) => name === last);
  const project = runName(id);
  const path = `/api/v1/projects/${project}`;
  const exists = async () => {
    const { items } = await api.call({ method: "GET", path: "/api/v1/projects" }, projects);
    return (items ?? []).some(({ metadata }) => metadata.name === project && metadata.labels?.[RUN_LABEL] === id);
  };
  await attempt(`project ${project}`, async () => {
    if (!(await exists())) return;
    await api.call({ method: "DELETE", path }, anything);
    removed.push(`project ${project}`);
  });
  return { removed, left };
}

/** The applications of a run, and svc's temporary ones for them. */
async function foundOf(api: ArgoCdApi, id: string): Promise<readonly Found[]> {
  const ask = async (selector: string) => {
    const call = { method: "GET", path: "/api/v1/applications", query: { selector } } as const;
    return (await api.call(call, applications)).items ?? [];
  };
  // Deleting one deletes what it deployed: the label alone is not enough.
  const mine = (await ask(`${RUN_LABEL}=${id}`))
    .filter(({ metadata }) => metadata.name.startsWith(`${runName(id)}-`))
    .map(({ metadata, spec }) => ({ name: metadata.name, project: spec.project, temporary: false }));
  const temporary = (await ask(`${LABELS.temporary}=true`))
    .filter(({ metadata }) => (metadata.annotations?.[LABELS.for] ?? "").startsWith(`${runName(id)}-`))
    .map(({ metadata, spec }) => ({ name: metadata.name, project: spec.project, temporary: true }));
  return [...mine, ...temporary];
}

async function remove(api: ArgoCdApi, { name, project, temporary }: Found): Promise<void> {
  // Argo CD adds the finalizer that deletes what the application deployed. A temporary one would stay with it for ever.
  const query = { project, cascade: temporary ? "false" : "true" };
  try {
    await api.call({ method: "DELETE", path: `/api/v1/applications/${name}`, query }, anything);
  } catch (error) {
    // It is gone already, or going.
    if (!(error instanceof ArgoCdProblem) || error.status !== 404) throw error;
  }
}
