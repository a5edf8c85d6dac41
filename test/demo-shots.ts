import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { pino } from "pino";
import type { Browser, Page } from "playwright-core";
import { startDemo } from "../demo/demo.js";
import { startBrowser } from "./web/browser/start-browser.js";

const FOLDER = fileURLToPath(new URL("../screenshots", import.meta.url));
/** What the README shows. */
const IMAGES = fileURLToPath(new URL("../docs/images", import.meta.url));
/** What a browser complained about, and expectations that did not come true. */
const complaints: string[] = [];

const demo = await startDemo({ port: 0, log: pino({ level: "silent" }) });
try {
  await mkdir(FOLDER, { recursive: true });
  await mkdir(IMAGES, { recursive: true });
  const browser = await startBrowser();
  try {
    await story(browser, demo.url);
    await conversation(browser, demo.url);
    await narrow(browser, demo.url);
  } finally {
    await browser.close();
  }
} finally {
  await demo.stop();
}
process.stdout.write(
  complaints.length === 0 ? `Screenshots are in ${FOLDER} and ${IMAGES}\n` : `${complaints.join("\n")}\n`,
);
process.exitCode = complaints.length === 0 ? 0 : 1;

/** From the plan to the result, for the README. Begins after the story has started the demo over. */
async function conversation(browser: Browser, url: string): Promise<void> {
  const page = await open(browser, url, { width: 1360, height: 900 });
  await page.getByText("svc Plan").first().waitFor();
  await page.getByRole("button", { name: "Approve as bo" }).click();
  await page.getByText("approved by bo").waitFor();
  await command(page, "svc sync");
  await page.getByText(/svc answered and merged/).waitFor();
  // One diff is enough to see what a plan is.
  await page.getByText("Diff (2 resources changed)").click();
  // The box to write in would hide the end.
  await page.evaluate("document.getElementById('composer').remove()");
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme });
    const path = join(IMAGES, `conversation-${colorScheme}.png`);
    await page.locator("#comments").screenshot({ path });
  }
  await page.close();
}

/** A visitor's way through the demo at a desk. */
async function story(browser: Browser, url: string): Promise<void> {
  const page = await open(browser, url, { width: 1360, height: 900 });
  await page.getByText("svc Plan").first().waitFor();
  await shoot(page, "1-plan-light");
  await page.emulateMedia({ colorScheme: "dark" });
  await shoot(page, "1-plan-dark");
  await page.emulateMedia({ colorScheme: "light" });

  await command(page, "svc sync");
  await page.getByText("PR must be approved before sync").waitFor();
  await shoot(page, "2-not-approved");
  await page.getByRole("button", { name: "Approve as bo" }).click();
  await page.getByText("approved by bo").waitFor();

  await page.getByRole("button", { name: "one that waits for #1" }).click();
  await page.getByText("Locked by PR #1 (ana)").waitFor();
  await shoot(page, "3-second");
  await page.getByRole("button", { name: /^#1/ }).click();

  await command(page, "svc sync -a web");
  await page.getByText("syncing …").first().waitFor();
  await shoot(page, "4-syncing");
  await page.locator(".object ins", { hasText: "registry.example.com/web:1.5.0" }).waitFor();
  await page.getByText(/svc answered\./).waitFor();
  await shoot(page, "5-synced-one");

  await command(page, "svc sync");
  await page.getByText(/svc answered and merged/).waitFor();
  await shoot(page, "6-merged");
  await page.emulateMedia({ colorScheme: "dark" });
  await shoot(page, "6-merged-dark");

  await page.emulateMedia({ colorScheme: "light" });
  await scene(page, "one that deletes a volume", "to a new volume", "7-danger");
  await scene(page, "one that changes a Secret", "Rotate the password", "7-secret");
  await scene(page, "one whose sync fails", "monthly report", "7-failing");
  await page.getByRole("button", { name: /^Approve as/ }).click();
  await page.getByText(/^approved by/).waitFor();
  await command(page, "svc sync");
  await page.getByRole("img", { name: "confused" }).waitFor();
  await shoot(page, "7-failed", true);
  const [own] = await Promise.all([
    page.context().waitForEvent("page"),
    page.getByRole("link", { name: "This one on svc's own page" }).click(),
  ]);
  await own.getByText("Last failure").waitFor();
  await shoot(own, "7-own-page");
  await own.close();

  await page.emulateMedia({ colorScheme: "dark" });
  await page.getByRole("tab", { name: /GitLab/ }).click();
  await command(page, "svc help <img src=x onerror=alert(1)>");
  await page.waitForTimeout(1500);
  await shoot(page, "7-gitlab-dark");
  await page.getByRole("button", { name: "Start over" }).click();
  await page.getByText("Starting over").waitFor();
  await shoot(page, "8-starting-over");
  await page.getByText("Starting over").waitFor({ state: "hidden" });
  await page.close();
}

/** Opens a change request and shows its plan. */
async function scene(page: Page, button: string, title: string, name: string): Promise<void> {
  await page.getByRole("button", { name: button }).click();
  await page.locator("#request-title", { hasText: title }).waitFor();
  await page.getByText("svc Plan").first().waitFor();
  await page.getByText(/svc is working/).waitFor({ state: "hidden" });
  await shoot(page, name, true);
}

/** On a telephone. */
async function narrow(browser: Browser, url: string): Promise<void> {
  const page = await open(browser, url, { width: 390, height: 844 });
  await page.getByText("svc Plan").first().waitFor();
  await shoot(page, "9-narrow");
  await shoot(page, "9-narrow-whole", true);
  const width = await page.evaluate("document.documentElement.scrollWidth");
  if (width !== 390) complaints.push(`the page is ${String(width)} px wide on a screen of 390 px`);
  await page.close();
}

async function open(browser: Browser, url: string, viewport: { width: number; height: number }): Promise<Page> {
  const page = await (await browser.newContext({ viewport })).newPage();
  page.setDefaultTimeout(20_000);
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") complaints.push(`console: ${message.text()}`);
  });
  page.on("pageerror", (error) => complaints.push(`page: ${error.message}`));
  await page.goto(url);
  return page;
}

/** Types like a person: a chip or the keyboard, then Enter. */
async function command(page: Page, text: string): Promise<void> {
  await page.getByRole("textbox", { name: "Comment" }).fill(text);
  await page.keyboard.press("Enter");
}

async function shoot(page: Page, name: string, fullPage = false): Promise<void> {
  await page.screenshot({ path: join(FOLDER, `${name}.png`), fullPage });
}
