/** A webhook of a project or a group. */
export interface Webhook {
  readonly id: number;
  /** Id of the project, or full path of the group in lower case. */
  readonly of: number | string;
  readonly url: string;
  readonly createdAt: Date;
  readonly events: Readonly<Record<HookEvent, boolean>>;
  readonly branchFilter: string | null;
  readonly branchFilterStrategy: "wildcard" | "regex" | "all_branches";
  readonly template: string | null;
  /** `X-Gitlab-Token`; never shown. */
  readonly token: string | undefined;
  /** `whsec_…`; never shown. */
  readonly signingToken: string | undefined;
}

export const hookEvents = [
  "push_events",
  "tag_push_events",
  "merge_requests_events",
  "issues_events",
  "confidential_issues_events",
  "note_events",
  "confidential_note_events",
  "job_events",
  "pipeline_events",
  "wiki_page_events",
  "deployment_events",
  "releases_events",
] as const;
export type HookEvent = (typeof hookEvents)[number];
