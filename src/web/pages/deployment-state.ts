import type { Revision } from "../../core/model/brand.js";
import { isDeployedAt, type Deployment } from "../../core/model/deployment.js";

/** A deployment record in a few words, and the tone to show it in. */
export interface DeploymentState {
  readonly tone: "good" | "attention" | "bad";
  readonly text: string;
}

export function deploymentState({ outcome }: Pick<Deployment, "outcome">): DeploymentState {
  switch (outcome) {
    case "succeeded":
      return { tone: "attention", text: "deployed, not merged" };
    case "failed":
      return { tone: "bad", text: "sync failed, not merged" };
    case "started":
      return { tone: "attention", text: "sync started" };
    case "unknown":
      return { tone: "bad", text: "outcome unknown: look in Argo CD" };
  }
}

/** As `deploymentState`, on the page of the change request that deployed it, where the head is known. */
export function ownDeploymentState(record: Deployment, head: Revision | undefined): DeploymentState {
  if (head !== undefined && isDeployedAt(record, head)) return { tone: "good", text: "this commit is deployed" };
  if (record.outcome === "succeeded") return { tone: "attention", text: "an earlier commit is deployed" };
  return deploymentState(record);
}
