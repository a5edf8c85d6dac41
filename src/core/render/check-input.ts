import { stringify } from "yaml";
import type { Manifest } from "../model/application.js";
import { type JsonText, readJsonText } from "../model/json.js";
import type { Task } from "../ports/compute.js";
import { EmbeddedTexts } from "../secrets/embedded.js";
import { carriesParameters, hideParameters } from "../secrets/hide-parameters.js";
import { maskValues } from "../secrets/hide-values.js";
import { isSecretKind } from "../secrets/secret-object.js";

/** The manifests of both sides of an application. */
export interface CheckedManifests {
  readonly head: JsonText<readonly Manifest[]>;
  readonly base: JsonText<readonly Manifest[]>;
}

/** They are written as YAML documents, without values of Secrets. */
export const checkInputTask: Task<CheckedManifests, { readonly head: string; readonly base: string }> = {
  name: "check-input",
  run({ head, base }) {
    const texts = new EmbeddedTexts();
    const written = documents(head, texts);
    return { head: written, base: base === head ? written : documents(base, texts) };
  },
};

function documents(manifests: JsonText<readonly Manifest[]>, texts: EmbeddedTexts): string {
  return readJsonText(manifests)
    .map((manifest) => `---\n${writtenDocument(withoutSecrets(manifest, texts))}`)
    .join("");
}

function withoutSecrets(manifest: Manifest, texts: EmbeddedTexts): Manifest {
  const masked = maskValues(manifest, isSecretKind(manifest.kind), texts);
  const { kind, apiVersion } = masked;
  const group = typeof apiVersion === "string" ? (apiVersion.split("/").at(-2) ?? "") : "";
  const identity = { group, kind: typeof kind === "string" ? kind : "" };
  return carriesParameters(identity) ? (hideParameters(undefined, masked).head ?? masked) : masked;
}

/** Line breaks and marks that readers of YAML 1.1 and 1.2 take for different things, and what is no character. */
const AMBIGUOUS = /[\u007f-\u009f\u2028\u2029\ufeff\ufffe\uffff]/g;

/**
 * One document that every reader of YAML takes for the same: Kubernetes' tools read YAML 1.1, where `yes` is a boolean, `<<`
 * a merge and U+2028 a line break. What they could differ about is written as JSON with escapes, which is YAML as well.
 */
export function writtenDocument(manifest: Manifest): string {
  const json = JSON.stringify(manifest);
  const escaped = json.replace(AMBIGUOUS, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`);
  // Control characters, and halves of pairs.
  if (escaped !== json || json.includes("\\u")) return `${escaped}\n`;
  return stringify(manifest, { lineWidth: 0, aliasDuplicateObjects: false, compat: "yaml-1.1" });
}
