import { listAt, stringAt } from "../sandbox/argocd/json.js";
import type { SeenStatus } from "../sandbox/forge.js";
import { repositoryName } from "../src/core/model/brand.js";
import { changePagePath } from "../src/core/model/change-request.js";
import { CHANGE_REQUEST_SIGILS, HOST_IDS, HOST_TITLES, STATUS_NAME, type HostId } from "../src/names.js";
import type { SeenObject } from "./cluster-watch.js";
import { diffHtml, renderComment } from "./render-comment.js";
import { PEOPLE, type Scene } from "./scenes.js";
import { applicationsOf } from "./shop.js";
import type { Stage } from "./stage.js";
import type { Story } from "./story.js";

/** Everything that the page shows. */
export interface Snapshot {
  readonly phase: "ready" | "starting" | "failed";
  /** Why starting failed, and what to do. */
  readonly problem?: string;
  /** Address of svc's own pages; absent until it runs. */
  readonly pages?: string;
  readonly hosts: readonly SeenHost[];
}

export interface SeenHost {
  readonly id: HostId;
  readonly title: string;
  /** The host's term for a change request. */
  readonly noun: "pull request" | "merge request";
  readonly sigil: string;
  readonly repository: string;
  /** Whether the service is still working on this host. */
  readonly working: boolean;
  readonly requests: readonly SeenRequest[];
  readonly applications: readonly SeenApplication[];
  readonly locks: readonly { readonly application: string; readonly number: number; readonly user: string }[];
}

export interface SeenRequest {
  readonly number: number;
  readonly title: string;
  readonly author: string;
  readonly state: "open" | "closed" | "merged";
  readonly headBranch: string;
  readonly baseBranch: string;
  /** First characters of the head commit. */
  readonly head: string;
  readonly mergedBy: string | undefined;
  readonly branchDeleted: boolean;
  /** Who can approve it. */
  readonly approver: string;
  readonly approval: { readonly by: string; readonly current: boolean } | undefined;
  readonly scene: Scene;
  /** The applications that it changes. */
  readonly applications: readonly string[];
  /** Its page on svc. */
  readonly page: string;
  /** The commit status that svc set last. */
  readonly status: Pick<SeenStatus, "state" | "description"> | undefined;
  readonly files: readonly { readonly path: string; readonly html: string }[];
  readonly comments: readonly {
    readonly id: string;
    readonly author: string;
    readonly service: boolean;
    readonly html: string;
    /** In the host's words: `eyes`, `rocket`, `confused`. */
    readonly reactions: readonly string[];
  }[];
}

export interface SeenApplication {
  readonly name: string;
  readonly kind: string;
  readonly sync: string;
  readonly health: string;
  readonly syncing: boolean;
  /** First characters of the last deployed commit. */
  readonly revision: string;
  readonly objects: readonly SeenObject[];
}

/** Renders a comment's Markdown, cached by text. */
export type CommentRenderer = (body: string) => string;

export function rememberingRenderer(): CommentRenderer {
  const rendered = new Map<string, string>();
  return (body) => {
    const known = rendered.get(body);
    if (known !== undefined) return known;
    const html = renderComment(body);
    rendered.set(body, html);
    return html;
  };
}

export async function snapshotOf(stage: Stage, render: CommentRenderer): Promise<Snapshot> {
  const locks = await stage.locks();
  const hosts = HOST_IDS.map((id): SeenHost => {
    const story = stage.stories[id];
    return {
      id,
      title: HOST_TITLES[id],
      noun: id === "hosta" ? "pull request" : "merge request",
      sigil: CHANGE_REQUEST_SIGILS[id],
      repository: story.shop.repository,
      working: stage.isWorking(id),
      requests: story.numbers.map((number) => requestOf(stage, story, number, render)),
      applications: applicationsOf(story.shop).map((one) => applicationOf(stage, one)),
      locks: locks
        .filter(({ holder }) => holder.host === id)
        .map(({ application, holder, user }) => ({ application, number: holder.number, user })),
    };
  });
  return { phase: "ready", pages: stage.pagesUrl, hosts };
}

function requestOf(stage: Stage, story: Story, number: number, render: CommentRenderer): SeenRequest {
  const seen = story.forge.changeRequest(story.shop.repository, number);
  const approval = story.approval(number);
  const { repository } = story.shop;
  const { title, author, state, headBranch, baseBranch, headRevision, mergedBy } = seen;
  return {
    number,
    title,
    author,
    state,
    headBranch,
    baseBranch,
    head: headRevision.slice(0, 8),
    mergedBy,
    branchDeleted: !story.hasBranch(headBranch),
    approver: story.approver(number),
    approval: approval === undefined ? undefined : { by: approval.by, current: approval.head === headRevision },
    scene: story.scene(number),
    applications: story.applications(number),
    page: stage.pagesUrl + changePagePath({ host: story.host, repository: repositoryName(repository), number }),
    status: statusOf(story, headRevision),
    files: story.patches(number).map(({ path, diff }) => ({ path, html: diffHtml(diff) })),
    comments: seen.comments.map((comment) => ({
      id: comment.id,
      author: comment.author,
      service: !PEOPLE.some((person) => person === comment.author),
      html: render(comment.body),
      reactions: comment.reactions.map(({ name }) => name),
    })),
  };
}

function statusOf({ forge, shop }: Story, revision: string): SeenRequest["status"] {
  const last = forge.statuses(shop.repository, revision).findLast(({ name }) => name === STATUS_NAME);
  return last === undefined ? undefined : { state: last.state, description: last.description };
}

function applicationOf({ world, cluster }: Stage, { name, kind }: { name: string; kind: string }): SeenApplication {
  const status = world.argocd.application(name)?.status;
  return {
    name,
    kind,
    sync: stringAt(status, "sync", "status") ?? "Unknown",
    health: stringAt(status, "health", "status") ?? "Unknown",
    syncing: stringAt(status, "operationState", "phase") === "Running",
    revision: (stringAt(listAt(status, "history").at(-1), "revision") ?? "").slice(0, 8),
    objects: cluster.objects(name),
  };
}
