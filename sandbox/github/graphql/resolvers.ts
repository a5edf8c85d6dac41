import { baseTip, mergeBaseOf, readMergeability, type Mergeability } from "../mergeability.js";
import { associationOf, mergeStateOf } from "../render/pull.js";
import { latestOpinionatedReviews, reviewDecision } from "../reviews.js";
import { permits, type InstallationToken } from "../tokens.js";
import {
  nodeId,
  type Comment,
  type Issue,
  type Person,
  type Pull,
  type Repository,
  type Review,
  type World,
} from "../world.js";
import { connection, TypedError, type PageArguments } from "./fields.js";

export type Resolvers = Readonly<Record<string, unknown>>;

/** Root of queries and mutations for the owner of a token. */
export function rootResolvers(world: World, token: InstallationToken): Resolvers {
  return {
    viewer: () => ({ ...actor(world, world.bot), __typename: "User", login: world.bot.login }),
    repository: ({ owner, name }: { owner: string; name: string }) => {
      const repository = world.repositories.get(`${owner}/${name}`);
      if (repository === undefined || !permits(token, repository, "metadata", "read")) {
        throw new TypedError("NOT_FOUND", `Could not resolve to a Repository with the name '${owner}/${name}'.`);
      }
      return repositoryFields(world, token, repository);
    },
    minimizeComment: ({ input }: { input: { subjectId: string; classifier: string; clientMutationId?: string } }) => {
      const found = findComment(world, input.subjectId);
      if (found === undefined) {
        throw new TypedError("NOT_FOUND", `Could not resolve to a node with the global id of '${input.subjectId}'`);
      }
      const { repository } = found.issue;
      if (!permits(token, repository, "pull_requests", "write") && !permits(token, repository, "issues", "write")) {
        throw new TypedError("FORBIDDEN", "Resource not accessible by integration");
      }
      found.comment.minimizedReason = input.classifier.toLowerCase().replaceAll("_", "-");
      return {
        clientMutationId: input.clientMutationId ?? null,
        minimizedComment: { __typename: "IssueComment", ...commentFields(world, found.comment) },
      };
    },
  };
}

function repositoryFields(world: World, token: InstallationToken, repository: Repository): Resolvers {
  return {
    __typename: "Repository",
    id: nodeId("R", repository.id),
    databaseId: repository.id,
    name: repository.name,
    nameWithOwner: repository.fullName,
    owner: actor(world, repository.owner),
    url: `${world.url}/${repository.fullName}`,
    isPrivate: repository.private,
    isFork: repository.parent !== undefined,
    defaultBranchRef: () => refFields(world, repository, repository.defaultBranch),
    pullRequest: ({ number }: { number: number }) => {
      const pull = repository.pulls.get(number);
      if (!permits(token, repository, "pull_requests", "read")) {
        throw new TypedError("FORBIDDEN", "Resource not accessible by integration");
      }
      if (pull === undefined) {
        throw new TypedError("NOT_FOUND", `Could not resolve to a PullRequest with the number of ${number}.`);
      }
      return pullFields(world, token, pull);
    },
  };
}

function pullFields(world: World, token: InstallationToken, pull: Pull): Resolvers {
  // Asked for twice in one document it is still one read.
  let read: Promise<Mergeability> | undefined;
  const mergeability = (): Promise<Mergeability> => (read ??= readMergeability(world, pull));
  const { repository, headRepository } = pull;
  return {
    __typename: "PullRequest",
    id: nodeId("PR", pull.id),
    databaseId: pull.id,
    fullDatabaseId: String(pull.id),
    number: pull.number,
    title: pull.title,
    body: "",
    url: `${world.url}/${repository.fullName}/pull/${pull.number}`,
    state: pull.merged !== undefined ? "MERGED" : pull.state.toUpperCase(),
    isDraft: pull.draft,
    closed: pull.state === "closed",
    closedAt: pull.closedAt ?? null,
    createdAt: pull.createdAt,
    updatedAt: pull.updatedAt,
    merged: pull.merged !== undefined,
    mergedAt: pull.merged?.at ?? null,
    mergedBy: pull.merged === undefined ? null : actor(world, pull.merged.by),
    mergeCommit: pull.merged === undefined ? null : { __typename: "Commit", oid: pull.merged.commit },
    mergeable: async () => mergeableNames[await mergeability()],
    mergeStateStatus: async () => mergeStateOf(world, pull, await mergeability()).toUpperCase(),
    author: actor(world, pull.author),
    authorAssociation: associationOf(world, repository, pull.author),
    baseRefName: pull.baseBranch,
    baseRefOid: () => baseTip(world, pull),
    baseRef: () => refFields(world, repository, pull.baseBranch),
    baseRepository: () => repositoryFields(world, token, repository),
    headRefName: pull.headBranch,
    headRefOid: pull.headSha,
    headRef: () => refFields(world, headRepository, pull.headBranch),
    headRepository: () => repositoryFields(world, token, headRepository),
    headRepositoryOwner: actor(world, headRepository.owner),
    isCrossRepository: headRepository !== repository,
    changedFiles: async () => {
      const from = await mergeBaseOf(world, pull);
      return (await world.store.changedPaths(repository.fullName, from, pull.headSha)).length;
    },
    reviewDecision: reviewDecision(world, pull),
    latestOpinionatedReviews: (args: PageArguments & { writersOnly?: boolean | null }) => {
      const reviews = latestOpinionatedReviews(world, pull, args.writersOnly ?? false);
      return connection(
        "latestOpinionatedReviews",
        reviews.map((review) => reviewFields(world, pull, review)),
        args,
      );
    },
    reviewRequests: (args: PageArguments) =>
      connection(
        "reviewRequests",
        [...pull.reviewRequests].map((person) => ({
          __typename: "ReviewRequest",
          id: nodeId("RR", `${pull.id}:${person.id}`),
          databaseId: person.id,
          // Code owners are asked for a review by GitHub itself.
          asCodeOwner: repository.codeOwners.includes(person),
          requestedReviewer: actor(world, person),
        })),
        args,
      ),
    reviews: (args: PageArguments & { states?: readonly string[] | null }) => {
      const reviews = pull.reviews.filter(({ state }) => args.states?.includes(state) ?? true);
      return connection(
        "reviews",
        reviews.map((review) => reviewFields(world, pull, review)),
        args,
      );
    },
    comments: (args: PageArguments) =>
      connection(
        "comments",
        pull.comments.map((comment) => commentFields(world, comment)),
        args,
      ),
  };
}

const mergeableNames = { mergeable: "MERGEABLE", conflicts: "CONFLICTING", unknown: "UNKNOWN" } as const;

function reviewFields(world: World, pull: Pull, review: Review): Resolvers {
  return {
    __typename: "PullRequestReview",
    id: nodeId("PRR", review.id),
    databaseId: review.id,
    fullDatabaseId: String(review.id),
    state: review.state,
    body: "",
    author: actor(world, review.author),
    authorAssociation: associationOf(world, pull.repository, review.author),
    authorCanPushToRepository: world.mayWrite(pull.repository, review.author),
    commit: { __typename: "Commit", oid: review.commit },
    createdAt: review.submittedAt,
    submittedAt: review.submittedAt,
  };
}

function commentFields(world: World, comment: Comment): Resolvers {
  return {
    __typename: "IssueComment",
    id: nodeId("IC", comment.id),
    databaseId: comment.id,
    fullDatabaseId: String(comment.id),
    author: actor(world, comment.author),
    body: comment.body,
    createdAt: comment.createdAt,
    updatedAt: comment.updatedAt,
    isMinimized: comment.minimizedReason !== undefined,
    minimizedReason: comment.minimizedReason ?? null,
    viewerCanMinimize: true,
  };
}

/** GraphQL spells a bot's login without the `[bot]` of REST. */
function actor(world: World, person: Person): Resolvers {
  return {
    __typename: person.type,
    id: nodeId("U", person.id),
    databaseId: person.id,
    login: person.type === "Bot" ? person.login.replace(/\[bot\]$/, "") : person.login,
    url: `${world.url}/${person.type === "Bot" ? "apps/" : ""}${person.login}`,
    avatarUrl: `${world.url}/avatars/u/${person.id}`,
  };
}

async function refFields(world: World, repository: Repository, branch: string): Promise<Resolvers | null> {
  const tip = await world.store.resolve(repository.fullName, `refs/heads/${branch}`);
  if (tip === undefined) return null;
  return {
    __typename: "Ref",
    id: nodeId("REF", `${repository.fullName}:${branch}`),
    name: branch,
    prefix: "refs/heads/",
    target: { __typename: "Commit", oid: tip },
  };
}

function findComment(world: World, id: string): { issue: Issue | Pull; comment: Comment } | undefined {
  for (const repository of world.repositories.values()) {
    for (const issue of [...repository.pulls.values(), ...repository.issues.values()]) {
      const comment = issue.comments.find((candidate) => nodeId("IC", candidate.id) === id);
      if (comment !== undefined) return { issue, comment };
    }
  }
  return undefined;
}
