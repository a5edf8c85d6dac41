import { mayDo } from "../accounts.js";
import { invalid, unknown } from "../api-error.js";
import type { Managed } from "../controller/compare.js";
import { uidOf } from "../controller/health-play.js";
import { findApplication, projectFor } from "../find-application.js";
import type { JsonObject } from "../json.js";
import { sortedText, stringAt } from "../json.js";
import { selectFields } from "../list-fields.js";
import type { Manifest } from "../manifest.js";
import { masked } from "../masking.js";
import { presentApplication, presentWithHealth } from "../present.js";
import { windowsFor, type SyncWindow } from "../projects.js";
import { skipsReconcile, sourcesOf, type Application } from "../resource.js";
import type { EndpointId } from "../schemas/endpoints.js";
import { accountOf, NeverAnswered, text, texts, type Call, type Handler } from "./call.js";

export const readRoutes = {
  list(call) {
    const { world } = call;
    const account = accountOf(call);
    const projects = texts(call, "project").length > 0 ? texts(call, "project") : texts(call, "projects");
    const matchesLabels = selectorFor(text(call, "selector") ?? "");
    const [name, repo, namespace, fields] = ["name", "repo", "appNamespace", "fields"].map((one) => text(call, one));
    const items = [...world.applications.values()]
      .filter(
        ({ metadata }) =>
          world.isEnabled(metadata.namespace) && (namespace ?? metadata.namespace) === metadata.namespace,
      )
      .filter((one) => mayDo(account, "applications", "get", world.rbacNameOf(one)))
      .filter(({ spec }) => projects.length === 0 || projects.includes(world.projectOf(spec)))
      .filter(({ metadata }) => (name ?? metadata.name) === metadata.name && matchesLabels(metadata.labels ?? {}))
      .filter(({ spec }) => repo === undefined || sourcesOf(spec)[0]?.repoURL === repo)
      .sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1))
      .map(presentApplication);
    const metadata = { resourceVersion: world.version };
    if (fields !== undefined) return { items: selectFields(items, fields), metadata };
    return { metadata, items: items.length === 0 ? null : items };
  },
  "list-clusters"(call) {
    const { world } = call;
    const server = "https://kubernetes.default.svc";
    const serverVersion = world.kubernetes;
    const info = { applicationsCount: world.applications.size, serverVersion };
    const shown = mayDo(accountOf(call), "clusters", "get", server);
    return { metadata: {}, items: shown ? [{ name: "in-cluster", server, serverVersion, info }] : [] };
  },
  async get(call) {
    const projects = [...texts(call, "project"), ...texts(call, "projects")];
    if (projects.length > 1) throw invalid("multiple projects specified");
    const application = foundIn(call, call.parameters.name ?? "", projects[0]);
    const refresh = text(call, "refresh");
    if (refresh !== undefined) await refreshed(call, application, refresh);
    await call.operations.advance(application);
    // While an operation waits to be picked up, the controller has not reconciled either.
    const isAhead = application.operation !== undefined && application.operationState === undefined;
    if (!isAhead) await call.controller.settle(application);
    call.controller.health.show(application, refresh !== undefined);
    return presentWithHealth(application);
  },
  async "managed-resources"(call) {
    const application = foundIn(call, call.parameters.applicationName ?? "", text(call, "project"));
    if (skipsReconcile(application)) throw new NeverAnswered();
    await call.controller.settle(application);
    const managed = call.controller.managed(application);
    if (managed === undefined) {
      // Seen in v3.3.19 alone: v3.2.6 and v3.4.13 answer with the error.
      if (call.world.options.version.startsWith("v3.3.")) return {};
      const [condition] = (application.status.conditions ?? []) as JsonObject[];
      const reason = `${stringAt(condition, "type") ?? ""}: ${stringAt(condition, "message") ?? ""}`;
      throw unknown(`error getting cached app managed resources: ${reason}`);
    }
    const wanted = (key: Managed["key"]): boolean =>
      (["namespace", "name", "group", "kind"] as const).every(
        (member) => (text(call, member) ?? key[member]) === key[member],
      );
    const items = managed.filter(({ key }) => wanted(key)).map(presentManaged);
    for (const { liveState } of items) call.world.tellLive(liveState);
    return items.length === 0 ? {} : { items };
  },
  "resource-tree"(call) {
    const application = foundIn(call, call.parameters.applicationName ?? "", text(call, "project"));
    if (skipsReconcile(application)) throw new NeverAnswered();
    const managed = (call.controller.managed(application) ?? []).flatMap(({ key, live }) => {
      return live === undefined ? [] : [nodeOf(key.group, key.kind, key.namespace, key.name)];
    });
    const namespace = application.spec.destination.namespace ?? "";
    const sick = call.controller.health.objectsOf(application);
    const shown = sick.map((one, index): JsonObject => {
      const owner = sick[index - 1];
      const message = one.message === undefined ? {} : { message: one.message };
      return {
        ...nodeOf(one.group ?? "", one.kind, namespace, one.name),
        ...(owner === undefined ? {} : { parentRefs: [nodeOf(owner.group ?? "", owner.kind, namespace, owner.name)] }),
        health: { status: one.status, ...message },
      };
    });
    const uids = new Set(shown.map(({ uid }) => uid));
    const nodes = [...managed.filter(({ uid }) => !uids.has(uid)), ...shown];
    return nodes.length === 0 ? {} : { nodes };
  },
  "sync-windows"(call) {
    const application = foundIn(call, call.parameters.name ?? "", text(call, "project"));
    const windows = windowsOf(call, application).map(({ kind, schedule, duration }) => ({
      kind,
      schedule,
      duration,
      manualSync: false,
    }));
    return windows.length === 0
      ? { canSync: true }
      : { activeWindows: windows, assignedWindows: windows, canSync: false };
  },
} satisfies Partial<Record<EndpointId, Handler>>;

function nodeOf(group: string, kind: string, namespace: string, name: string): JsonObject {
  return {
    ...(group === "" ? {} : { group }),
    version: "v1",
    kind,
    ...(namespace === "" ? {} : { namespace }),
    name,
    uid: uidOf(kind, name),
  };
}

function foundIn(call: Call, name: string, project: string | undefined): Application {
  return findApplication(call.world, accountOf(call), "get", { name, namespace: text(call, "appNamespace"), project });
}

/** Sets an annotation and waits for the controller to remove it, which with skip-reconcile it never does. */
async function refreshed({ controller, world }: Call, application: Application, refresh: string): Promise<void> {
  const { metadata } = application;
  if (skipsReconcile(application)) {
    metadata.annotations = { ...metadata.annotations, "argocd.argoproj.io/refresh": refresh };
    throw new NeverAnswered();
  }
  // Servers without a hydrator leave this annotation behind.
  metadata.annotations = { ...metadata.annotations, "argocd.argoproj.io/hydrate": refresh };
  world.touch(application);
  await controller.reconcile(application);
}

export function windowsOf({ world }: Call, { metadata, spec }: Application): readonly SyncWindow[] {
  return windowsFor(projectFor(world, world.projectOf(spec), metadata.namespace), metadata.name);
}

/** Reads label selectors of the forms `key=value` and `key`, joined by commas. */
function selectorFor(selector: string): (labels: Readonly<Record<string, string>>) => boolean {
  const terms = selector.split(",").filter((term) => term !== "");
  const wanted = terms.map((term): [string, string | undefined] => {
    const [, key, value] = /^([\w./-]+)(?:=([\w.-]*))?$/.exec(term) ?? [];
    if (key === undefined) throw unknown(`error parsing the selector: unable to parse requirement: found '${term}'`);
    return [key, value];
  });
  return (labels) => wanted.every(([key, value]) => (value === undefined ? key in labels : labels[key] === value));
}

function presentManaged({ key, target, live, normalized, predicted, modified }: Managed) {
  const [shownTarget, shownLive] = masked([target, live]);
  const [, , shownNormalized, shownPredicted] = masked([target, live, normalized, predicted]);
  const written = (manifest: Manifest | undefined): string => (manifest === undefined ? "null" : sortedText(manifest));
  const version = stringAt(live, "metadata", "resourceVersion");
  return {
    ...(key.group === "" ? {} : { group: key.group }),
    kind: key.kind,
    ...(key.namespace === "" ? {} : { namespace: key.namespace }),
    name: key.name,
    targetState: written(shownTarget),
    liveState: written(shownLive),
    normalizedLiveState: written(shownNormalized),
    predictedLiveState: written(shownPredicted),
    ...(version === undefined ? {} : { resourceVersion: version }),
    ...(modified ? { modified } : {}),
  };
}
