import { describe, expect, test } from "@jest/globals";
import { markerLine } from "../../src/comments/marker.js";
import { postOnce, publish } from "../../src/comments/publish.js";
import { repositoryName } from "../../src/core/model/brand.js";
import { HostFailure, type HostFailureReason } from "../../src/core/model/errors.js";
import type { CodeHost, OwnComment } from "../../src/core/ports/code-host.js";

const change = { host: "hosta", repository: repositoryName("acme/deploy"), number: 7 } as const;
const BODY = `${markerLine({ kind: "result", part: 1, runId: "r1" })}\nhello`;

type Answer = "ok" | "lost" | "not-done" | HostFailureReason;

/** A host that answers the posts as told; `lost` was carried out, `not-done` may have been and was not. */
function hostThat(...answers: readonly Answer[]) {
  const comments: OwnComment[] = [{ id: "0", body: `${markerLine({ kind: "plan", part: 1, runId: "r1" })}\nplan` }];
  let posts = 0;
  const host: Pick<CodeHost, "postComment" | "listOwnComments"> = {
    listOwnComments: () => Promise.resolve(comments),
    postComment: (_, body) => {
      const answer = answers[posts] ?? "ok";
      posts += 1;
      if (answer === "ok" || answer === "lost") comments.push({ id: String(comments.length), body });
      if (answer === "ok") return Promise.resolve(String(comments.length - 1));
      const maybeDone = answer === "lost" || answer === "not-done";
      return Promise.reject(new HostFailure(maybeDone ? "unreachable" : answer, "it broke", { maybeDone }));
    },
  };
  return { host, comments, posts: () => posts };
}

describe("posting a comment", () => {
  test.each<[string, readonly Answer[], number]>([
    ["an answer that was lost: found, not posted again", ["lost"], 1],
    ["an unknown outcome of a comment that is not there: posted once more", ["not-done"], 2],
    ["surely not posted: tried once more", ["unreachable"], 2],
    ["the host broke down: tried once more", ["failed"], 2],
    ["the second answer was lost as well", ["not-done", "lost"], 2],
  ])("%s", async (_, answers, posts) => {
    const world = hostThat(...answers);
    expect(await postOnce(world.host, change, BODY, { urgency: "result" })).toBe("1");
    expect(world.comments.filter(({ body }) => body === BODY)).toHaveLength(1);
    expect(world.posts()).toBe(posts);
  });

  test.each<[string, readonly Answer[], number]>([
    ["refused for good: not tried again", ["rejected"], 1],
    ["a permission is missing: not tried again", ["forbidden"], 1],
    ["the client waited for the rate limit already", ["rate-limited"], 1],
    ["twice surely not posted", ["unreachable", "unreachable"], 2],
    ["twice unknown and not there", ["not-done", "not-done"], 2],
  ])("it gives up: %s", async (_, answers, posts) => {
    const world = hostThat(...answers);
    await expect(postOnce(world.host, change, BODY, { urgency: "result" })).rejects.toThrow("it broke");
    expect(world.comments).toHaveLength(1);
    expect(world.posts()).toBe(posts);
  });
});

test.each<[string, readonly HostFailureReason[], number, number]>([
  ["the host broke down once: edited all the same", ["failed"], 2, 0],
  ["the host broke down twice: posted anew", ["failed", "failed"], 2, 1],
  ["somebody deleted it: posted anew at once", ["not-found"], 1, 1],
])("an answer that replaces a progress comment: %s", async (_, failures, edits, posts) => {
  const world = hostThat();
  let edited = 0;
  const editComment: CodeHost["editComment"] = () => {
    const reason = failures[edited];
    edited += 1;
    return reason === undefined
      ? Promise.resolve()
      : Promise.reject(new HostFailure(reason, "it broke", { maybeDone: reason === "failed" }));
  };
  const options = { runId: "r1", into: "progress", posting: { urgency: "result" } } as const;
  const id = await publish({ ...world.host, editComment }, change, [BODY], options);
  expect([id, edited, world.posts()]).toEqual([posts === 0 ? "progress" : "1", edits, posts]);
});
