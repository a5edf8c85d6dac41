import { afterAll, beforeAll, expect, test } from "@jest/globals";
import type { Browser, Page } from "playwright-core";
import { applicationName } from "../../../src/core/model/brand.js";
import { sampleChange } from "../../comments/samples.js";
import { sampleApplication } from "../../core/sample-application.js";
import { failedSync, fillStores, PULL } from "../sample-stores.js";
import { startSite, type SiteUnderTest } from "../site-under-test.js";
import { expectAccessible, keepScreenshot, openWindow, overflow, signIn, type Look } from "./browser.js";
import { startBrowser } from "./start-browser.js";

const NEXT = { kind: "command", command: "plan", applications: [], by: [] } as const;
const PAGES = [
  ["locks", "/"],
  ["change", "/changes/github/acme/deploy/7"],
  ["applications", "/applications"],
  ["timeline", "/timeline?application=web"],
  ["activity", "/activity"],
  ["users", "/users"],
  ["status", "/status"],
  ["missing", "/changes/github/acme/deploy/99"],
] as const;

/** Walks the pages of a service with something to show in each of these looks, and of these services on a phone. */
export function looksOf(looks: readonly Look[], others: readonly ("empty" | "unguarded")[]): void {
  let browser: Browser;
  let site: SiteUnderTest;
  let empty: SiteUnderTest;
  let unguarded: SiteUnderTest;

  beforeAll(async () => {
    browser = await startBrowser();
    const approval = { approved: false, approvers: [], people: [], missing: "nobody has approved this commit yet" };
    const lookUp = async () => ({
      change: sampleChange(),
      planned: true,
      approval,
      missingForRules: undefined,
      next: NEXT,
    });
    const standings = [
      ["web", "Degraded", "OutOfSync"],
      ["docs", "Healthy", "Synced"],
      ["payments", "Progressing", "Synced"],
    ] as const;
    const listApplications = async () =>
      standings.map(([name, health, sync]) => ({
        ...sampleApplication(name, { destination: {}, project: "default" }),
        listed: { health, sync },
      }));
    const deployer = { listApplications };
    [site, empty, unguarded] = await Promise.all([
      startSite({ lookUp, deployer }),
      startSite(),
      startSite({ auth: false }),
    ]);
    await fillStores(site.stores, site.clock);
    const title = "Scale the shop to three replicas before the sale, and give each of them twice the memory";
    await site.stores.marks.describe(PULL, { title, state: "open", draft: true });
    for (const number of [21, 22]) {
      await site.stores.waiting.join(applicationName("web"), { ...PULL, number });
      await site.stores.marks.describe({ ...PULL, number }, { title: "The next one", state: "open", draft: false });
    }
    const message = 'one or more objects failed to apply, reason: namespaces "shop" not found';
    await site.stores.audit.record({ ...failedSync(site.clock, message), seconds: 42 });
    await fillStores(unguarded.stores, unguarded.clock);
  });
  afterAll(async () => {
    await browser.close();
    await Promise.all([site, empty, unguarded].map((one) => one.stop()));
  });

  test.each(looks)("every page is accessible and fits, %s", async (look) => {
    const page = await openWindow(browser, site.url, look);
    // Dark differs from light by its colours alone.
    const checked = look === "dark" ? "alone" : "with the rest";
    const faults: string[] = [];
    page.on("console", (message) => {
      if (message.type() === "error") faults.push(message.text());
    });
    page.on("pageerror", (error) => faults.push(error.message));
    await page.goto("/");
    await expectAccessible(page, checked);
    await keepScreenshot(page, `login-${look}`);
    await page.getByLabel("Username").fill("olga");
    await page.getByLabel("Password").fill("a wrong one");
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("alert").getByText("Wrong username or password.").waitFor();
    expect(await page.getByLabel("Username").inputValue()).toBe("olga");
    await expectAccessible(page, checked);
    await keepScreenshot(page, `login-wrong-${look}`);
    await signIn(page, "olga");
    for (const [name, path] of PAGES) {
      await page.goto(path);
      await expectAccessible(page, checked);
      expect([path, await overflow(page)]).toEqual([path, 0]);
      await keepScreenshot(page, `${name}-${look}`);
    }
    expect(await narrowActivity(page)).toEqual([]);
    await page.goto("/");
    await page.getByRole("button", { name: "Unlock web" }).click();
    await page.getByRole("dialog", { name: "Unlock web?" }).waitFor();
    await expectAccessible(page, checked);
    await keepScreenshot(page, `confirm-${look}`);
    // The browser tells of the page that is missing and of the password that is wrong on purpose.
    expect(faults.filter((text) => !/\b40[14]\b/.test(text))).toEqual([]);
    await page.context().close();
  });

  test.each(looks)("whoever sees no diff is told why and what to do, %s", async (look) => {
    const closed = await startSite({ auth: { diffs: "readers" } });
    try {
      await fillStores(closed.stores, closed.clock);
      const page = await openWindow(browser, closed.url, look);
      await page.goto("/changes/github/acme/deploy/7");
      await signIn(page, "ana");
      await page.getByText("svc does not know your account there.").waitFor();
      expect(await page.getByText("3 changed resources are not shown.").count()).toBe(1);
      expect(await page.locator("details.resource").count()).toBe(0);
      await expectAccessible(page, look === "dark" ? "alone" : "with the rest");
      expect(await overflow(page)).toBe(0);
      await keepScreenshot(page, `change-hidden-${look}`);
      await page.context().close();
    } finally {
      await closed.stop();
    }
  });

  for (const name of others) {
    test(`every page of a service that is ${name} is accessible and fits`, async () => {
      const login = name === "empty";
      const page = await openWindow(browser, (login ? empty : unguarded).url, "phone");
      if (login) {
        await page.goto("/");
        await signIn(page, "ana");
      }
      for (const path of [
        "/",
        "/applications",
        "/activity",
        "/status",
        ...(login ? [] : ["/changes/github/acme/deploy/7"]),
      ]) {
        await page.goto(path);
        await expectAccessible(page);
        expect([path, await overflow(page)]).toEqual([path, 0]);
        await keepScreenshot(page, `${name}${path.replaceAll("/", "-")}`);
      }
      await page.context().close();
    });
  }
}

/** What a window that just has room for columns cuts off of the activity's headings, and of how long ago something was, in its longest words. */
async function narrowActivity(page: Page): Promise<readonly string[]> {
  const { width, height } = page.viewportSize() ?? { width: 0, height: 0 };
  await page.setViewportSize({ width: Math.min(width, 1024), height });
  await page.goto("/activity");
  const cut = await page.evaluate<readonly string[]>(`(() => {
    for (const time of document.querySelectorAll("td time")) time.textContent = "365 days ago";
    const cells = [...document.querySelectorAll("th, td[data-label=When]")];
    return cells.filter((one) => one.scrollWidth > one.clientWidth).map((one) => one.textContent);
  })()`);
  await page.setViewportSize({ width, height });
  return cut;
}
