import type { ArgoCd } from "../../sandbox/argocd/argocd.js";
import type { Exchange } from "../../sandbox/argocd/exchanges.js";
import { isObject, listAt, objectAt, stringAt, type JsonObject } from "../../sandbox/argocd/json.js";
import { LABELS } from "../../src/names.js";

/** Names of the case's commits by commit id; other revisions stand for themselves. */
export type RevisionNames = ReadonlyMap<string, string>;

/** What the service asked Argo CD to render and to sync, a line each that says for which sources and revisions. */
export class ArgoCdCalls {
  readonly #exchanges: Exchange[] = [];
  #planBegin = 0;
  readonly #temporary = new Map<string, JsonObject>();

  /** `onTemporary` is told the name of each temporary Application and the name that the application really has. */
  constructor(argocd: ArgoCd, onTemporary: (temporary: string, real: string) => void) {
    argocd.onExchange((exchange) => {
      this.#exchanges.push(exchange);
      if (exchange.method !== "POST" || exchange.path !== "/api/v1/applications" || exchange.status !== 200) return;
      const body = bodyOf(exchange);
      const name = stringAt(body, "metadata", "name") ?? "";
      this.#temporary.set(name, body);
      onTemporary(name, realName(body));
    });
  }

  /** Renders from now on are those of the plan that the case compares. */
  beginPlan(): void {
    this.#planBegin = this.#exchanges.length;
  }

  /**
   * `web revision=head`, of several sources `web 1=head 3=head`, without a revision `web target`, past Argo CD's cache
   * `web revision=head noCache`; a temporary Application's line begins with the word and names what its spec says.
   */
  renders(names: RevisionNames): readonly string[] {
    return this.#of("GET", "manifests", this.#planBegin).map(({ name, exchange }) => {
      const query = new URLSearchParams(exchange.query);
      const fresh = query.get("noCache") === "true" ? " noCache" : "";
      const temporary = this.#temporary.get(name);
      if (temporary !== undefined) return `temporary ${realName(temporary)} ${specRevisions(temporary, names)}${fresh}`;
      const revisions = {
        revision: query.get("revision") ?? undefined,
        positions: query.getAll("sourcePositions"),
        revisions: query.getAll("revisions"),
      };
      return `${qualified(name, query.get("appNamespace"))} ${revisionsText(revisions, names)}${fresh}`;
    });
  }

  /** Accepted syncs as `web revision=head`, with ` prune` and ` dry-run` behind it. */
  syncs(names: RevisionNames): readonly string[] {
    return this.#of("POST", "sync").map(({ name, exchange }) => {
      const body = bodyOf(exchange);
      const revisions = {
        revision: stringAt(body, "revision"),
        positions: listAt(body, "sourcePositions").map(String),
        revisions: listAt(body, "revisions").map(String),
      };
      const options = [...(body.prune === true ? ["prune"] : []), ...(body.dryRun === true ? ["dry-run"] : [])];
      const called = qualified(name, stringAt(body, "appNamespace") ?? null);
      return [called, revisionsText(revisions, names), ...options].join(" ");
    });
  }

  #of(method: string, verb: string, from = 0): readonly { readonly name: string; readonly exchange: Exchange }[] {
    const path = new RegExp(`^/api/v1/applications/([^/]+)/${verb}$`);
    return this.#exchanges.slice(from).flatMap((exchange) => {
      const name = exchange.method === method ? path.exec(exchange.path)?.[1] : undefined;
      return name === undefined ? [] : [{ name: decodeURIComponent(name), exchange }];
    });
  }
}

function bodyOf({ requestBody }: Exchange): JsonObject {
  const body: unknown = requestBody === "" ? {} : JSON.parse(requestBody);
  return isObject(body) ? body : {};
}

function realName(temporary: JsonObject): string {
  return stringAt(temporary, "metadata", "annotations", LABELS.for) ?? "";
}

/** Argo CD's own namespace is `argocd` here, and then is not said. */
function qualified(name: string, namespace: string | null): string {
  return namespace === null || namespace === "argocd" ? name : `${namespace}/${name}`;
}

interface Revisions {
  readonly revision: string | undefined;
  readonly positions: readonly string[];
  readonly revisions: readonly string[];
}

function revisionsText({ revision, positions, revisions }: Revisions, names: RevisionNames): string {
  const called = (id: string) => names.get(id) ?? id;
  const pairs = positions.map((position, index) => `${position}=${called(revisions[index] ?? "")}`);
  const parts = [...(revision === undefined || revision === "" ? [] : [`revision=${called(revision)}`]), ...pairs];
  return parts.length === 0 ? "target" : parts.join(" ");
}

function specRevisions(temporary: JsonObject, names: RevisionNames): string {
  const spec = objectAt(temporary, "spec");
  const several = listAt(spec, "sources").map((source) => stringAt(source, "targetRevision") ?? "");
  return revisionsText(
    {
      revision: several.length > 0 ? undefined : stringAt(spec, "source", "targetRevision"),
      positions: several.map((_, index) => String(index + 1)),
      revisions: several,
    },
    names,
  );
}
