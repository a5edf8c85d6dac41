import { afterAll, afterEach, beforeAll, describe, expect, test } from "@jest/globals";
import type { Browser, Page } from "playwright-core";
import { fillStores } from "../sample-stores.js";
import { SESSION_TTL_MS, startSite, type SiteUnderTest } from "../site-under-test.js";
import { expectAccessible, keepScreenshot, openWindow, signIn } from "./browser.js";
import { startBrowser } from "./start-browser.js";

const CHANGE = "/changes/github/acme/deploy/7";

/** What people do on the pages of a service with this store. */
export function flowsOver(store: "memory" | "redis"): void {
  describe(`over the store ${store}`, () => {
    let browser: Browser;
    let site: SiteUnderTest;
    const windows: Page[] = [];

    beforeAll(async () => {
      browser = await startBrowser();
      site = await startSite({ store });
      await fillStores(site.stores, site.clock, 2000);
    });
    afterEach(() => Promise.all(windows.splice(0).map((page) => page.context().close())));
    afterAll(async () => {
      await browser.close();
      await site.stop();
    });

    /** Somebody's own window at a page, after the login that leads there. */
    async function windowOf(person: "olga" | "ana" | "bo", path: string): Promise<Page> {
      const page = await openWindow(browser, site.url);
      windows.push(page);
      await page.goto(path);
      await signIn(page, person);
      expect(new URL(page.url()).pathname).toBe(path);
      return page;
    }

    test("a diff of 2,000 lines is folded, and whole when it is opened", async () => {
      const page = await windowOf("ana", CHANGE);
      const long = page.locator("details", { hasText: "ConfigMap shop/settings" });
      expect(await long.getByText("key-1999").isVisible()).toBe(false);
      await long.locator("summary").click();
      await long.getByText("key-0", { exact: true }).waitFor();
      await long.getByText("key-1999").scrollIntoViewIfNeeded();
      expect(await long.getByText("key-1999").isVisible()).toBe(true);
      await expectAccessible(page);
    });

    test("an admin releases a lock after a confirmation that can be declined", async () => {
      const page = await windowOf("olga", "/");
      await page.getByRole("button", { name: "Unlock web" }).focus();
      await page.keyboard.press("Enter");
      await page.getByRole("dialog").waitFor();
      await page.keyboard.press("Escape");
      await page.locator("dialog").waitFor({ state: "detached" });
      expect(await page.evaluate("document.activeElement.textContent")).toBe("Unlock");
      await page.keyboard.press("Enter");
      await page.getByRole("dialog").getByRole("button", { name: "Unlock" }).click();
      await page.getByRole("status").getByText("web is unlocked.").waitFor();
      expect(await page.getByRole("button", { name: /^Unlock / }).count()).toBe(2);
      await expectAccessible(page);
      await page.goto("/activity");
      await page.getByRole("row", { name: /olga unlocked by an admin/ }).waitFor();
    });

    test("an admin holds applications for a time, and releases them", async () => {
      const page = await windowOf("olga", "/");
      await page.getByText("Hold deployments").click();
      await page.getByLabel("Applications", { exact: true }).fill("shop, prod-{eu,us}-*");
      await page.getByRole("button", { name: "Hold", exact: true }).click();
      expect(await page.getByRole("dialog").count()).toBe(0);
      await page.getByLabel("Reason").fill("database migration");
      await page.getByRole("button", { name: "Hold", exact: true }).click();
      await page.getByRole("dialog").getByRole("button", { name: "Hold" }).click();
      await page.getByRole("status").getByText("The applications are held.").waitFor();
      await page
        .getByRole("listitem")
        .filter({ hasText: "shop, prod-{eu,us}-*" })
        .getByText("database migration")
        .waitFor();
      await expectAccessible(page);
      await page.getByRole("button", { name: "Release the hold of shop, prod-{eu,us}-*" }).click();
      await page.getByRole("dialog").getByRole("button", { name: "Release" }).click();
      await page.getByRole("status").getByText("The hold is released.").waitFor();
      expect(await page.getByRole("button", { name: /^Release/ }).count()).toBe(0);
    });

    test("a user is refused", async () => {
      const page = await windowOf("bo", "/");
      expect(await page.getByRole("button", { name: /^Unlock/ }).count()).toBe(0);
      const status = await page.evaluate(async () => (await fetch("/api/v1/locks/api", { method: "DELETE" })).status);
      expect(status).toBe(403);
      await page.goto("/users");
      await page.getByRole("heading", { name: "Only for admins" }).waitFor();
      await expectAccessible(page);
    });

    test("a changed role applies in the other browser at once", async () => {
      const other = await windowOf("ana", "/");
      const page = await windowOf("olga", "/users");
      await page.getByLabel("Role of ana", { exact: true }).selectOption("admin");
      await page.getByRole("button", { name: "Change the role of ana" }).click();
      await page
        .getByRole("dialog", { name: "Give ana the role admin?" })
        .getByRole("button", { name: "Change role" })
        .click();
      await page.getByRole("status").getByText("ana now has the role admin.").waitFor();
      await other.reload();
      await other.getByRole("link", { name: "Users" }).waitFor();
      await page.getByLabel("Role of ana", { exact: true }).selectOption("user");
      await page.getByRole("button", { name: "Change the role of ana" }).click();
      await page.getByRole("dialog").getByRole("button", { name: "Change role" }).click();
      await page.getByRole("status").getByText("ana now has the role user.").waitFor();
      await other.reload();
      await other.getByRole("link", { name: "Status" }).waitFor();
      expect(await other.getByRole("link", { name: "Users" }).count()).toBe(0);
    });

    test("an expired session is reported at the next step, and the login leads back", async () => {
      const page = await windowOf("olga", "/");
      site.clock.advance(SESSION_TTL_MS + 1000);
      await page.getByRole("button", { name: "Unlock api" }).click();
      await page.getByRole("dialog").getByRole("button", { name: "Unlock" }).click();
      await page.getByRole("status").getByText("Session expired").waitFor();
      await page.goto("/activity");
      await page.getByText("Session expired").waitFor();
      await expectAccessible(page);
      await keepScreenshot(page, "expired");
      await signIn(page, "olga");
      expect(new URL(page.url()).pathname).toBe("/activity");
    });

    test("a page works without scripts, and by keyboard from its first link", async () => {
      const page = await windowOf("ana", "/");
      await page.keyboard.press("Tab");
      expect(await page.evaluate("document.activeElement.textContent")).toBe("Skip to the content");
      await page.keyboard.press("Enter");
      expect(await page.evaluate("document.activeElement.id")).toBe("main");
    });
  });
}
