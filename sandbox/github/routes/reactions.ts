import { renderReaction } from "../render/reaction.js";
import { now, type Reaction } from "../world.js";
import { notFound, type Answer, type Call, type Route } from "./call.js";

export const reactionRoutes: readonly Route[] = [
  {
    method: "post",
    template: "/repos/{owner}/{repo}/issues/comments/{comment_id}/reactions",
    caller: "installation",
    // Unlike for the comment itself, the permission for pull requests does not suffice
    // (https://docs.github.com/rest/authentication/permissions-required-for-github-apps).
    needs: [["issues", "write"]],
    handle: createReaction,
  },
];

/** Adds a reaction, without a webhook. Repeating a reaction returns 200 and adds nothing. */
function createReaction({ world, repository, params, body }: Call): Answer {
  const found = world.comment(repository, Number(params.comment_id));
  if (found === undefined) throw notFound();
  const { reactions } = found.comment;
  const content = String(body.content);
  const known = reactions.find((one) => one.by === world.bot && one.content === content);
  if (known !== undefined) return { status: 200, body: renderReaction(world, known) };
  const reaction: Reaction = { id: world.newId(), by: world.bot, content, createdAt: now() };
  reactions.push(reaction);
  return { status: 201, body: renderReaction(world, reaction) };
}
