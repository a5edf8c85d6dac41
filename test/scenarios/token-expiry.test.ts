import { afterEach, expect, test } from "@jest/globals";
import { GitLabForge } from "../../sandbox/gitlab/gitlab-forge.js";
import { freePort } from "../redis-server.js";
import { startBot } from "./bot.js";
import { HookReceiver } from "./hook-receiver.js";
import { ServiceLog } from "./service-log.js";

let receiver: HookReceiver | undefined;
afterEach(() => receiver?.stop());

test("GitLab's token that expires is logged, measured, on the status page, and told to receivers", async () => {
  receiver = await HookReceiver.start();
  const log = new ServiceLog();
  const port = await freePort();
  const key = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;
  const bot = await startBot({
    host: "hostb",
    log: log.write,
    config: {
      server: { metrics_port: port },
      notifications: [
        { name: "records", url: `${receiver.url}/records`, format: "json", secret: key, events: ["token_expires"] },
      ],
    },
    prepare: (_world, forge) => {
      if (!(forge instanceof GitLabForge)) throw new Error("not a GitLab");
      forge.setTokenExpiry(new Date(Date.now() + 20.5 * 24 * 60 * 60_000).toISOString().slice(0, 10));
    },
  });
  await bot.service.watchTokens();
  const { expires, days } = await log.first("a token expires soon");
  expect(days).toBeGreaterThanOrEqual(18);
  await receiver.until(1);
  expect(receiver.on("/records")).toMatchObject([{ type: "token_expires", data: { system: "GitLab", expires } }]);
  await bot.service.watchTokens();
  expect(receiver.messages).toHaveLength(1);
  const metrics = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  expect(metrics).toContain(
    `svc_token_expires_timestamp_seconds{system="GitLab"} ${Date.parse(String(expires)) / 1000}`,
  );
  const page = await (await fetch(`${bot.service.url}/status`)).text();
  expect(page).toContain("<strong>Token for GitLab</strong>");
});
