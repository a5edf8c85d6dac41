import { mkdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { expect } from "@jest/globals";
import type { Browser, BrowserContext, BrowserContextOptions, Page } from "playwright-core";
import { PASSWORD, type Person } from "../site-under-test.js";

/** How a person looks at a page. */
export const LOOKS = {
  light: { colorScheme: "light", viewport: { width: 1280, height: 900 } },
  dark: { colorScheme: "dark", viewport: { width: 1280, height: 900 } },
  phone: { colorScheme: "light", viewport: { width: 390, height: 844 } },
} as const satisfies Readonly<Record<string, BrowserContextOptions>>;
export type Look = keyof typeof LOOKS;

/** A window of somebody's own, with cookies of its own. */
export async function openWindow(browser: Browser, baseURL: string, look: Look = "light"): Promise<Page> {
  const context: BrowserContext = await browser.newContext({ ...LOOKS[look], baseURL, reducedMotion: "reduce" });
  // Only for what never comes: a page may take long on a busy machine.
  context.setDefaultTimeout(120_000);
  return context.newPage();
}

/** Fills in the form of the sign-in page that the window shows. */
export async function signIn(page: Page, person: Person): Promise<void> {
  await page.getByLabel("Username").fill(person);
  await page.getByLabel("Password").fill(PASSWORD);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("button", { name: "Sign out" }).waitFor();
  // A page that can be seen already may still wait for its script, and a key that is pressed before is lost.
  await page.waitForLoadState("load");
}

const SCREENSHOTS = fileURLToPath(new URL("../../../screenshots/pages/", import.meta.url));

/** In the nightly, keeps what the window shows, the whole page, for people to look at. */
export async function keepScreenshot(page: Page, name: string): Promise<void> {
  if (process.env.SVC_NIGHTLY !== "1") return;
  mkdirSync(SCREENSHOTS, { recursive: true });
  await page.screenshot({ path: `${SCREENSHOTS}${name}.png`, fullPage: true });
}

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

interface Violation {
  readonly id: string;
  readonly nodes: readonly { readonly html: string; readonly failureSummary?: string }[];
}

/** Fails unless axe finds nothing on the page: WCAG 2.2 A and AA, and its best practices. */
export async function expectAccessible(
  page: Page,
  colours: "with the rest" | "alone" = "with the rest",
): Promise<void> {
  // The page's own rules allow no foreign script; what is evaluated runs outside of them.
  await page.evaluate(AXE);
  const options = colours === "alone" ? '{ runOnly: ["color-contrast"] }' : "";
  const violations = await page.evaluate<readonly Violation[]>(
    `axe.run(${options}).then(({ violations }) => violations)`,
  );
  expect(
    violations.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.failureSummary ?? node.html).join("; ")}`),
  ).toEqual([]);
}

/** Whether the page is wider than its window, so that a phone would have to scroll sideways. */
export async function overflow(page: Page): Promise<number> {
  return page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth");
}
