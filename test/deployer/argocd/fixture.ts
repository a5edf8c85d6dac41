import { readFileSync } from "node:fs";

/** Recorded answers of Argo CD v3.5.1, shortened; each test casts what it reads. */
export function fixture(name: string): unknown {
  const file = new URL(`../../fixtures/argocd-adapter/${name}.json`, import.meta.url);
  return JSON.parse(readFileSync(file, "utf8"));
}

/** A copy of a recorded Application. */
export interface Recorded {
  metadata: Record<string, unknown>;
  spec: Record<string, unknown>;
  status: Record<string, unknown> & { operationState?: Record<string, unknown> };
  operation?: Record<string, unknown>;
}

export function recordedApplication(name: string): Recorded {
  const found = (fixture("applications") as Record<string, Recorded>)[name];
  if (found === undefined) throw new Error(`no recorded application ${name}`);
  return found;
}
