import { test } from "@jest/globals";
import { shareOf } from "../share-of.js";
import { conversation } from "./conversation.js";
import { fuzzAsync, HOUR_MS } from "./fuzz.js";
import { play } from "./talk.js";

test(
  "no advised command is refused, and obeying leads to a merge, whatever the conversation was",
  async () => {
    await fuzzAsync("next-step", conversation, play, { few: shareOf(200) });
  },
  // 100,000 conversations take about one hour of a core.
  3 * HOUR_MS,
);
