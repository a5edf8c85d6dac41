import { expect, test } from "@jest/globals";
import { GITHUB } from "../../src/hosts/github/words.js";
import { createHostFetch } from "../../src/hosts/host-fetch.js";
import { skippingClock } from "./skipping-clock.js";

test("another origin than the configured one is never asked", async () => {
  const hostFetch = createHostFetch({
    words: GITHUB,
    origin: "https://api.github.com",
    clock: skippingClock(),
    requestTimeoutMs: 1000,
    isRead: () => false,
    followsOwnRedirects: true,
    waits: () => ({ extend: () => undefined, end: () => undefined }),
  });
  await expect(hostFetch("http://127.0.0.1:1/next?page=2")).rejects.toMatchObject({
    reason: "failed",
    message: "GitHub pointed to another server, http://127.0.0.1:1; nothing was sent there.",
  });
});
