import type { JsonObject } from "../examples.js";
import { nodeId, type Reaction, type World } from "../world.js";
import { renderUser } from "./user.js";

export function renderReaction(world: World, { id, by, content, createdAt }: Reaction): JsonObject {
  return { id, node_id: nodeId("REA", id), user: renderUser(world, by), content, created_at: createdAt };
}

/** Counts of each reaction. */
export function reactionRollup(url: string, reactions: readonly Reaction[]): JsonObject {
  const counts = ["+1", "-1", "laugh", "hooray", "confused", "heart", "rocket", "eyes"].map((name) => [
    name,
    reactions.filter(({ content }) => content === name).length,
  ]);
  return { url, total_count: reactions.length, ...(Object.fromEntries(counts) as JsonObject) };
}
