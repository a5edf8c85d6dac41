/** How a change request is merged; GitLab decides `merge` and `rebase` by the project's own setting. */
export const MERGE_METHODS = ["squash", "merge", "rebase"] as const;
export type MergeMethod = (typeof MERGE_METHODS)[number];
