import { GroupHooks, ProjectHooks } from "@gitbeaker/rest";
import * as z from "zod";
import type { GitLabClient } from "../hosts/gitlab/client.js";
import { GITLAB } from "../hosts/gitlab/words.js";
import { decodeAnswer } from "../hosts/json-answer.js";
import { SERVICE } from "../names.js";
import type { HookTarget } from "./gitlab-account.js";
import { SetupRefused } from "./setup-refused.js";

/** What a webhook proves itself with. */
export type HookSecret = { readonly signingToken: string } | { readonly token: string };

/** A webhook that sends what svc needs. */
export interface WrittenHook {
  readonly id: number;
  readonly created: boolean;
  /** Whether GitLab signs its requests. */
  readonly signed: boolean;
  /** Others of the same address, which deliver everything once more. */
  readonly doubles: readonly number[];
  /** GitLab has stopped sending it after failures. */
  readonly disabled: boolean;
}

/** Members of https://docs.gitlab.com/api/project_webhooks/ and https://docs.gitlab.com/api/group_webhooks/ */
const hookSchema = z.object({
  id: z.int().positive(),
  url: z.string(),
  push_events: z.boolean(),
  merge_requests_events: z.boolean(),
  note_events: z.boolean(),
  confidential_note_events: z.boolean().nullish(),
  push_events_branch_filter: z.string().nullish(),
  custom_webhook_template: z.string().nullish(),
  alert_status: z.string().nullish(),
  // GitLab 19.1 and later.
  signing_token_present: z.boolean().nullish(),
});
type Hook = z.output<typeof hookSchema>;

/** Merge requests plan and release locks, comments are commands, pushes outdate plans; svc drops everything else. */
const EVENTS = {
  pushEvents: true,
  mergeRequestsEvents: true,
  noteEvents: true,
  confidentialNoteEvents: false,
  issuesEvents: false,
  confidentialIssuesEvents: false,
  tagPushEvents: false,
  jobEvents: false,
  pipelineEvents: false,
  wikiPageEvents: false,
  deploymentEvents: false,
  releasesEvents: false,
};

/**
 * Creates the webhook, or gives an existing one of the same address the events and the secret. A request with a parameter
 * that GitLab is too old for has the same effect without it.
 * @throws {SetupRefused} if the webhook would not send what svc needs; `HostFailure`.
 */
export async function writeHook(
  client: GitLabClient,
  target: HookTarget,
  { url, secret }: { readonly url: string; readonly secret: HookSecret },
): Promise<WrittenHook> {
  const listed = await client.read(z.array(hookSchema), `list the webhooks of ${target.path}`, (gitlab) =>
    hooksOf(target, gitlab).all(target.path, { perPage: 100 }),
  );
  const [known, ...doubles] = listed.filter((hook) => sameAddress(hook.url, url));
  const written =
    known === undefined ? await create(client, target, url, secret) : await update(client, target, known, secret);
  refuseUnusable(target, written);
  return {
    id: written.id,
    created: known === undefined,
    signed: written.signing_token_present === true,
    doubles: doubles.map(({ id }) => id),
    disabled: written.alert_status === "disabled" || written.alert_status === "temporarily_disabled",
  };
}

async function create(client: GitLabClient, target: HookTarget, url: string, secret: HookSecret): Promise<Hook> {
  const asked = `create a webhook in ${target.path}`;
  const options = { ...EVENTS, ...secret, name: SERVICE };
  const data = await client.ask(asked, (gitlab) => hooksOf(target, gitlab).add(target.path, url, options));
  return decodeAnswer(hookSchema, data, GITLAB, asked, true);
}

async function update(client: GitLabClient, target: HookTarget, known: Hook, secret: HookSecret): Promise<Hook> {
  const asked = `change the webhook ${known.id} of ${target.path}`;
  // Pushes to branches that the filter leaves out would outdate plans without svc's knowledge.
  const unfiltered = (known.push_events_branch_filter ?? "") === "" ? {} : { branchFilterStrategy: "all_branches" };
  const options = { ...EVENTS, ...secret, ...unfiltered };
  // With the address as GitLab has it: another one would take the webhook's secrets away.
  const data = await client.ask(asked, (gitlab) =>
    hooksOf(target, gitlab).edit(target.path, known.id, known.url, options),
  );
  return decodeAnswer(hookSchema, data, GITLAB, asked, true);
}

function refuseUnusable({ path }: HookTarget, hook: Hook): void {
  const where = `webhook ${hook.id} of ${path}`;
  const sends = hook.push_events && hook.merge_requests_events && hook.note_events;
  if (!sends || hook.confidential_note_events === true) {
    throw new SetupRefused(
      `GitLab did not take the events of ${where}: set push, comment and ${GITLAB.changeRequest} events in its settings, and no others`,
    );
  }
  if ((hook.custom_webhook_template ?? "") !== "") {
    throw new SetupRefused(
      `${where} has a custom template, and svc cannot read what it sends: delete the template in its settings, and run this again`,
    );
  }
}

function hooksOf({ kind }: HookTarget, gitlab: ConstructorParameters<typeof ProjectHooks>[0]) {
  return kind === "project" ? new ProjectHooks(gitlab) : new GroupHooks(gitlab);
}

/** Compares addresses as browsers read them. */
function sameAddress(one: string, other: string): boolean {
  const [left, right] = [one, other].map((text) => (URL.canParse(text) ? new URL(text).href : text));
  return left === right;
}
