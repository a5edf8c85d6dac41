import { z } from "zod";

/*
 * Members of the answers that this sandbox gives, a subset of GitLab's own API description (19.5, `doc/api/openapi/
 * openapi_v3.yaml` of its source). Strict: an answer with any other member counts as a violation. Where that
 * description is coarser than the product, for instance `access_level` as a string, the type is the product's.
 */

const time = z.iso.datetime();
const commitId = z.string().regex(/^[0-9a-f]{40}$/);

export const user = z.strictObject({
  id: z.int(),
  username: z.string(),
  name: z.string(),
  state: z.enum(["active", "blocked"]),
  locked: z.boolean(),
  avatar_url: z.url(),
  web_url: z.url(),
});

export const currentUser = z.strictObject({
  ...user.shape,
  created_at: time,
  bio: z.string(),
  bot: z.boolean(),
  public_email: z.string().nullable(),
  email: z.string(),
  confirmed_at: time,
  external: z.boolean(),
  two_factor_enabled: z.boolean(),
});

export const member = z.strictObject({
  ...user.shape,
  access_level: z.union([
    z.literal(5),
    z.literal(10),
    z.literal(15),
    z.literal(20),
    z.literal(30),
    z.literal(40),
    z.literal(50),
  ]),
  created_at: time,
  expires_at: z.string().nullable(),
  membership_state: z.literal("active"),
});

export const metadata = z.strictObject({
  version: z.string(),
  revision: z.string(),
  kas: z.strictObject({
    enabled: z.boolean(),
    externalUrl: z.string().nullable(),
    externalK8sProxyUrl: z.string().nullable(),
    version: z.string().nullable(),
  }),
  enterprise: z.boolean(),
});

export const accessToken = z.strictObject({
  id: z.int(),
  name: z.string(),
  revoked: z.boolean(),
  created_at: time,
  description: z.string().nullable(),
  scopes: z.array(z.string()),
  user_id: z.int(),
  last_used_at: time.nullable(),
  active: z.boolean(),
  expires_at: z.iso.date(),
});

const projectReference = z.strictObject({
  id: z.int(),
  description: z.string(),
  name: z.string(),
  name_with_namespace: z.string(),
  path: z.string(),
  path_with_namespace: z.string(),
  created_at: time,
  default_branch: z.string(),
  topics: z.array(z.string()),
  ssh_url_to_repo: z.string(),
  http_url_to_repo: z.url(),
  web_url: z.url(),
  readme_url: z.string().nullable(),
  forks_count: z.int(),
  avatar_url: z.string().nullable(),
  star_count: z.int(),
  last_activity_at: time,
  namespace: z.strictObject({
    id: z.int(),
    name: z.string(),
    path: z.string(),
    kind: z.enum(["group", "user"]),
    full_path: z.string(),
    parent_id: z.int().nullable(),
    avatar_url: z.string().nullable(),
    web_url: z.url(),
  }),
});

export const project = z.strictObject({
  ...projectReference.shape,
  forked_from_project: projectReference.optional(),
  visibility: z.enum(["private", "internal", "public"]),
  archived: z.boolean(),
  empty_repo: z.boolean(),
  merge_requests_enabled: z.boolean(),
  merge_method: z.enum(["merge", "rebase_merge", "ff"]),
  squash_option: z.enum(["never", "always", "default_on", "default_off"]),
  remove_source_branch_after_merge: z.boolean(),
  only_allow_merge_if_pipeline_succeeds: z.boolean(),
  permissions: z.strictObject({
    project_access: z.strictObject({ access_level: z.int(), notification_level: z.int() }).nullable(),
    group_access: z.null(),
  }),
});

export const commit = z.strictObject({
  id: commitId,
  short_id: z.string().length(8),
  created_at: time,
  parent_ids: z.array(commitId),
  title: z.string(),
  message: z.string(),
  author_name: z.string(),
  author_email: z.string(),
  authored_date: time,
  committer_name: z.string(),
  committer_email: z.string(),
  committed_date: time,
  trailers: z.strictObject({}),
  extended_trailers: z.strictObject({}),
  web_url: z.url(),
});

export const branch = z.strictObject({
  name: z.string(),
  commit,
  merged: z.boolean(),
  protected: z.boolean(),
  developers_can_push: z.boolean(),
  developers_can_merge: z.boolean(),
  can_push: z.boolean(),
  default: z.boolean(),
  web_url: z.url(),
});

export const compare = z.strictObject({
  commit: commit.nullable(),
  commits: z.array(commit),
  diffs: z.array(
    z.strictObject({
      diff: z.string(),
      collapsed: z.boolean(),
      too_large: z.boolean(),
      new_path: z.string(),
      old_path: z.string(),
      a_mode: z.string(),
      b_mode: z.string(),
      new_file: z.boolean(),
      renamed_file: z.boolean(),
      deleted_file: z.boolean(),
      generated_file: z.boolean().nullable(),
    }),
  ),
  compare_timeout: z.boolean(),
  compare_same_ref: z.boolean(),
  web_url: z.url(),
});
