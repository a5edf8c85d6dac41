/** What a plan comment says of one application, heading included; empty when it is not in it. */
export function section(comment: string, application: string): string {
  const parts = comment.split(/\n(?=### |---\n|Not deployed by this (?:PR|MR):|No longer affected|Notes:)/);
  return parts.find((part) => part.startsWith(`### Application: \`${application}\``)) ?? "";
}

/** Names of the applications that a plan comment has a section for, in its order. */
export function planned(comment: string): readonly string[] {
  return [...comment.matchAll(/^### Application: `([^`]+)`/gm)].map(([, name]) => name ?? "");
}

export const NEW_TEXT = "This application will be created when its Application resource is applied.";
export const DELETED_TEXT = "This application will be deleted when its Application resource is removed.";
export const UNCHANGED_TEXT = "No changes: the head commit and the target branch render the same.";
