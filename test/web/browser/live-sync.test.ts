import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import type { Browser } from "playwright-core";
import { HOSTS, REPOSITORY, startBot } from "../../scenarios/bot.js";
import { configMap } from "../../scenarios/resources.js";
import { PASSWORD } from "../site-under-test.js";
import { expectAccessible, keepScreenshot, openWindow, signIn } from "./browser.js";
import { startBrowser } from "./start-browser.js";

let browser: Browser;

beforeAll(async () => {
  browser = await startBrowser();
});
afterAll(() => browser.close());

describe.each(HOSTS)("with %s", (host) => {
  test("a sync can be watched from its plan to its end", async () => {
    const auth = {
      enabled: true,
      session_secret: "session-secret-of-the-tests-5b1f0e",
      cookie_secure: false,
      diffs: "all",
      basic: { users: [{ username: "ana", password: PASSWORD, role: "user" }] },
    };
    const bot = await startBot({ host, applications: ["web"], config: { auth } });
    const number = await bot.open({ "apps/web/configmap.yaml": configMap("web", { value: "two" }) });
    const page = await openWindow(browser, bot.service.url);
    await page.goto(`/changes/${host}/${REPOSITORY}/${number}`);
    await signIn(page, "ana");
    expect(await page.getByText(`locked by this ${host === "hosta" ? "pull" : "merge"} request`).count()).toBe(1);
    bot.expectChanges("sync web");
    let seen = "";
    bot.meanwhile("argocd", { method: "POST", path: /^\/api\/v1\/applications\/web\/sync$/ }, async () => {
      await page.getByRole("heading", { name: "A sync is running" }).waitFor();
      await page.locator("#live li").getByText("running").waitFor();
      seen = await page.locator("#live").innerText();
      await expectAccessible(page);
      await keepScreenshot(page, `live-${host}`);
    });
    await bot.comment(number, "svc sync");
    expect(seen).toMatch(/web\s+running/);
    await page.getByRole("heading", { name: "A sync has finished" }).waitFor();
    await page.getByText("this commit is deployed").waitFor();
    await expectAccessible(page);
    expect(bot.liveValue("web")).toBe("two");
    await page.context().close();
  });
});
