import type { JsonObject } from "../examples.js";
import { nodeId, type Activity, type World } from "../world.js";
import { renderUser } from "./user.js";

export function renderActivity(world: World, { id, before, after, ref, type, by, at }: Activity): JsonObject {
  const node_id = nodeId("PSH", id);
  return { id, node_id, before, after, ref, timestamp: at, activity_type: type, actor: renderUser(world, by) };
}
