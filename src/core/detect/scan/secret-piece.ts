import type { JsonObject } from "../../model/json.js";

/** Something in git that Secrets may be rendered from. */
export type SecretPiece = SecretManifests | SecretGenerator;

/** By a text for place and content: a piece with the same text on both sides renders the same. */
export type SecretPieces = ReadonlyMap<string, SecretPiece>;

/** A file of manifests. */
export interface SecretManifests {
  readonly kind: "manifests";
  readonly path: string;
  readonly naming: Naming;
}

/** An entry of `secretGenerator`. */
export interface SecretGenerator {
  readonly kind: "generator";
  readonly entry: JsonObject;
  readonly directory: string;
  /** The kustomization that it stands in. */
  readonly path: string;
  readonly naming: Naming;
  /** The name ends in a hash of the content. */
  readonly hashed: boolean;
}

/** What the kustomizations around an object make of its name. */
export interface Naming {
  readonly prefix: string;
  readonly suffix: string;
  /** That of the outermost kustomization which sets one. */
  readonly namespace: string | undefined;
}

export const NO_NAMING: Naming = { prefix: "", suffix: "", namespace: undefined };
