import type { ApplicationName } from "./brand.js";
import type { CheckResult } from "./check.js";
import type { ManifestDiff } from "./manifest-diff.js";

/** What the merge makes of the objects of an application that no sync of the plan deploys. */
export type PreviewContent = PreviewOutcome & {
  /** How the server's checks of what it renders ended; undefined if there are none for it. */
  readonly checks?: readonly CheckResult[] | undefined;
};

type PreviewOutcome =
  /** What its definition renders, against what it replaces; for a deleted application, what is deleted with it. */
  | { readonly kind: "compared"; readonly diff: ManifestDiff }
  /** It is deleted, and its objects stay in the cluster, where nothing manages them; named as in `ResourceChange.title`. */
  | { readonly kind: "left-behind"; readonly objects: readonly string[] }
  /** The reason is untrusted. `withheld`: it is not rendered before the head is approved. */
  | { readonly kind: "failed"; readonly reason: string; readonly withheld?: boolean | undefined }
  /** The plan has as many previews as it may have. */
  | { readonly kind: "beyond-limit"; readonly limit: number };

/** An application that is not in the plan itself: an ApplicationSet or a parent adds, changes or removes it at the merge. */
export interface Preview {
  readonly application: ApplicationName;
  readonly origin: PreviewOrigin;
  readonly content: PreviewContent;
}

export interface PreviewOrigin {
  readonly kind: "generated" | "child";
  /** The ApplicationSet or the parent. */
  readonly of: string;
  readonly change: "added" | "changed" | "removed";
}

/** The difference that a preview shows; undefined if it shows none. */
export function previewedDiff(content: PreviewContent | undefined): ManifestDiff | undefined {
  return content?.kind === "compared" ? content.diff : undefined;
}

export function isPreviewWithheld(content: PreviewContent | undefined): boolean {
  return content?.kind === "failed" && content.withheld === true;
}
