import { z } from "zod";
import { ArgoCdProblem, type ArgoCdApi } from "./argocd-api.js";
import { waitFor, type Waiting } from "./waiting.js";

/** Marks everything that a run creates in Argo CD; the value is the run's id. */
export const RUN_LABEL = "svc.dev/e2e";
const PREFIX = "svc-e2e-";
const DEPLOYED_MS = 120_000;
const KNOWN_MS = 10_000;

/** Objects answer with members that are absent or null. */
const labels = z.record(z.string(), z.string()).nullish();
const application = z.object({
  metadata: z.object({ name: z.string(), labels }),
  operation: z.object({}).optional(),
  status: z
    .object({
      sync: z.object({ status: z.string().optional() }).optional(),
      conditions: z.array(z.object({ type: z.string(), message: z.string() })).nullish(),
      operationState: z
        .object({
          phase: z.string(),
          message: z.string().optional(),
          syncResult: z
            .object({ revision: z.string().optional(), revisions: z.array(z.string()).nullish() })
            .optional(),
        })
        .optional(),
    })
    .optional(),
});
const managed = z.object({
  items: z.array(z.object({ kind: z.string(), name: z.string(), liveState: z.string().optional() })).nullish(),
});
export const listed = z.object({ items: z.array(application).nullish() });
export const projects = z.object({
  items: z.array(z.object({ metadata: z.object({ name: z.string(), labels }) })).nullish(),
});
export const anything = z.unknown();

export type SeenApplication = z.infer<typeof application>;

/** Where a run deploys. */
export interface Place {
  readonly project: string;
  readonly namespace: string;
  readonly destination: { readonly server: string } | { readonly name: string };
}

/** A run's name, which its project, its namespace and its applications begin with. */
export function runName(id: string): string {
  return `${PREFIX}${id}`;
}

/** The destination of an Application in a cluster that Argo CD knows by this name or address. */
export function destinationOf(cluster: string): Place["destination"] {
  return /^https?:\/\//.test(cluster) ? { server: cluster } : { name: cluster };
}

/** What a run has of its own in Argo CD. */
export class OwnObjects {
  constructor(
    readonly api: ArgoCdApi,
    readonly id: string,
    readonly place: Place,
    readonly waiting: Waiting,
  ) {}

  /** A project that allows these repositories, the run's namespace, and nothing else. */
  async createProject(repositories: readonly string[]): Promise<void> {
    const { project, destination, namespace } = this.place;
    const spec = {
      description: "A run of svc's end-to-end scenarios. If that is over: npm run e2e -- --clean",
      sourceRepos: repositories,
      destinations: [{ ...destination, namespace }],
      clusterResourceWhitelist: [{ group: "", kind: "Namespace" }],
    };
    const metadata = { name: project, labels: { [RUN_LABEL]: this.id } };
    try {
      await this.api.call(
        { method: "POST", path: "/api/v1/projects", body: { project: { metadata, spec } } },
        anything,
      );
    } catch (error) {
      if (!(error instanceof ArgoCdProblem) || error.status !== 403) throw error;
      const cure = "Give its account that right, or name an existing project with --project";
      throw new ArgoCdProblem(`the token may not create a project (${error.message}). ${cure}`, 403, { cause: error });
    }
  }

  async createApplication(name: string, spec: object): Promise<void> {
    const metadata = { name, labels: { [RUN_LABEL]: this.id } };
    const query = { validate: "false" };
    await this.api.call({ method: "POST", path: "/api/v1/applications", query, body: { metadata, spec } }, anything);
  }

  /** Deploys the target branch and waits until that has succeeded. */
  async deploy(name: string): Promise<void> {
    const { project } = this.place;
    const body = { name, project, prune: false };
    await this.#known(() =>
      this.api.call({ method: "POST", path: `/api/v1/applications/${name}/sync`, body }, anything),
    );
    await this.deployed(name);
  }

  /** Waits until an operation of the application has succeeded. */
  async deployed(name: string): Promise<void> {
    const look = async () => {
      const { operation, status } = await this.application(name);
      const { phase = "", message = "" } = status?.operationState ?? {};
      if (operation !== undefined || phase === "" || phase === "Running" || phase === "Terminating") return undefined;
      return { phase, message };
    };
    const { phase, message } = await waitFor(look, `${name} was not deployed`, DEPLOYED_MS, this.waiting);
    if (phase !== "Succeeded") throw new Error(`${name} could not be deployed: ${message}`);
  }

  application(name: string, refresh?: "normal" | "hard"): Promise<SeenApplication> {
    const query = { project: this.place.project, ...(refresh === undefined ? {} : { refresh }) };
    return this.api.call({ method: "GET", path: `/api/v1/applications/${name}`, query }, application);
  }

  /** Has Argo CD render the application's target branch. @throws {ArgoCdProblem} with Argo CD's reason if it cannot. */
  async render(name: string): Promise<void> {
    const query = { project: this.place.project, revision: "main" };
    const path = `/api/v1/applications/${name}/manifests`;
    await this.#known(() => this.api.call({ method: "GET", path, query }, anything));
  }

  /** The object in the cluster that the application manages, as Argo CD sees it after a refresh. */
  async live(name: string, kind: string, object: string): Promise<unknown> {
    await this.application(name, "normal");
    const query = { project: this.place.project, kind, name: object };
    const path = `/api/v1/applications/${name}/managed-resources`;
    const { items } = await this.api.call({ method: "GET", path, query }, managed);
    const state = items?.find((one) => one.kind === kind && one.name === object)?.liveState ?? "null";
    return JSON.parse(state) ?? undefined;
  }

  /** Names of the applications with a label, as a selector writes it, in the run's project. */
  async named(selector: string): Promise<readonly string[]> {
    const query = { selector, projects: this.place.project };
    const { items } = await this.api.call({ method: "GET", path: "/api/v1/applications", query }, listed);
    return (items ?? []).map(({ metadata }) => metadata.name);
  }

  /** Another replica of Argo CD's API server may not know a new application yet: it answers 403 or 404. */
  async #known(call: () => Promise<unknown>): Promise<void> {
    const end = this.waiting.clock.now().getTime() + KNOWN_MS;
    for (;;) {
      try {
        await call();
        return;
      } catch (error) {
        const early = error instanceof ArgoCdProblem && (error.status === 403 || error.status === 404);
        if (!early || this.waiting.clock.now().getTime() >= end) throw error;
        await this.waiting.clock.sleep(1_000, this.waiting.signal);
      }
    }
  }
}
