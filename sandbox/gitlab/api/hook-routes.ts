import type { ProjectHookSchema } from "@gitbeaker/rest";
import type { Router } from "express";
import type { z } from "zod";
import type { Instance } from "../model/instance.js";
import { hookEvents, type HookEvent, type Webhook } from "../model/webhook.js";
import { ApiFailure, serve, type Answer, type Call } from "./call.js";
import * as endpoints from "./endpoints.js";
import type { Members } from "./members.js";
import { page } from "./paging.js";

const maintainer = 40;
const owner = 50;

/** Webhooks of projects, and of groups with Premium. */
export function hookRoutes(router: Router, instance: Instance): void {
  const ofProject = (call: AnyCall): number => {
    const { id, members } = call.project();
    const { person, admin } = call.holder;
    if ((members.get(person.id) ?? 0) < maintainer && !admin) throw new ApiFailure(403, "403 Forbidden");
    return id;
  };
  const ofGroup = (call: AnyCall): string => {
    const path = call.param("id").toLowerCase();
    const { person, admin } = call.holder;
    const levels = instance.groupLevels.get(path);
    if (levels === undefined || instance.edition !== "premium") throw new ApiFailure(404, "404 Not Found");
    if ((levels.get(person.id) ?? 0) < owner && !admin) throw new ApiFailure(403, "403 Forbidden");
    return path;
  };
  router.get(
    endpoints.listHooks.path,
    serve(instance, endpoints.listHooks, (call) => list(instance, call, ofProject(call))),
  );
  router.post(
    endpoints.createHook.path,
    serve(instance, endpoints.createHook, (call) => create(instance, call, ofProject(call))),
  );
  router.put(
    endpoints.editHook.path,
    serve(instance, endpoints.editHook, (call) => edit(instance, call, ofProject(call))),
  );
  router.get(
    endpoints.listGroupHooks.path,
    serve(instance, endpoints.listGroupHooks, (call) => list(instance, call, ofGroup(call))),
  );
  router.post(
    endpoints.createGroupHook.path,
    serve(instance, endpoints.createGroupHook, (call) => create(instance, call, ofGroup(call))),
  );
  router.put(
    endpoints.editGroupHook.path,
    serve(instance, endpoints.editGroupHook, (call) => edit(instance, call, ofGroup(call))),
  );
}

type AnyCall = Pick<Call<never, never>, "holder" | "param" | "project">;
type Given = z.output<z.ZodObject<typeof endpoints.createHook.body>>;

function list(
  instance: Instance,
  { url, query }: Pick<Call<typeof endpoints.listHooks.query, never>, "url" | "query">,
  of: Webhook["of"],
): Answer {
  const own = instance.webhooks.filter((hook) => hook.of === of);
  return page(
    url,
    own.map((hook) => showHook(instance, hook)),
    query,
  );
}

function create(instance: Instance, { body }: { readonly body: Given }, of: Webhook["of"]): Answer {
  // Pushes are the only event that a new webhook sends unless told otherwise.
  const events = Object.fromEntries(hookEvents.map((event) => [event, event === "push_events"]));
  const fresh: Webhook = {
    id: instance.nextId(),
    of,
    url: "",
    createdAt: instance.now(),
    events: events as Record<HookEvent, boolean>,
    branchFilter: null,
    branchFilterStrategy: "wildcard",
    template: null,
    token: undefined,
    signingToken: undefined,
  };
  const hook = changed(instance, fresh, body);
  instance.webhooks.push(hook);
  return { status: 201, body: showHook(instance, hook) };
}

function edit(
  instance: Instance,
  { body, param }: { readonly body: Given; readonly param: (name: string) => string },
  of: Webhook["of"],
): Answer {
  const index = instance.webhooks.findIndex((hook) => hook.of === of && String(hook.id) === param("hook"));
  const known = instance.webhooks[index];
  if (known === undefined) throw new ApiFailure(404, "404 Not found");
  const hook = changed(instance, known, body);
  instance.webhooks[index] = hook;
  return { body: showHook(instance, hook) };
}

/** Another address takes the secrets away: `app/models/concerns/web_hooks/hook.rb` of GitLab. */
function changed(instance: Instance, hook: Webhook, given: Given): Webhook {
  if (!/^https?:\/\/[^/]/.test(given.url)) throw new ApiFailure(422, "Invalid url given", "error");
  const kept = given.url === hook.url ? hook : { ...hook, token: undefined, signingToken: undefined };
  const signing = instance.signsHooks ? given.signing_token : undefined;
  if (signing !== undefined && Buffer.from(signing.replace(/^whsec_/, ""), "base64").length !== 32) {
    throw new ApiFailure(422, "Signing token must be whsec_ and 32 bytes as Base64", "error");
  }
  return {
    ...kept,
    url: given.url,
    events: Object.fromEntries(
      hookEvents.map((event) => [event, given[event] ?? hook.events[event]]),
    ) as Webhook["events"],
    branchFilter: given.push_events_branch_filter ?? hook.branchFilter,
    branchFilterStrategy: given.branch_filter_strategy ?? hook.branchFilterStrategy,
    token: given.token ?? kept.token,
    signingToken: signing ?? kept.signingToken,
  };
}

type ShownHook = Members<ProjectHookSchema, "projectId" | "push_events_branch_filter" | "disabled_until"> & {
  readonly project_id?: number;
  readonly push_events_branch_filter: string | null;
  readonly branch_filter_strategy: string;
  readonly custom_webhook_template: string | null;
  readonly disabled_until: string | null;
  readonly token_present: boolean;
  readonly signing_token_present?: boolean;
};

function showHook(instance: Instance, hook: Webhook): ShownHook {
  return {
    id: hook.id,
    url: hook.url,
    created_at: hook.createdAt.toISOString(),
    ...(typeof hook.of === "number" ? { project_id: hook.of } : {}),
    ...hook.events,
    enable_ssl_verification: true,
    repository_update_events: false,
    alert_status: "executable",
    disabled_until: null,
    url_variables: [],
    push_events_branch_filter: hook.branchFilter,
    branch_filter_strategy: hook.branchFilterStrategy,
    custom_webhook_template: hook.template,
    token_present: hook.token !== undefined,
    ...(instance.signsHooks ? { signing_token_present: hook.signingToken !== undefined } : {}),
  };
}
