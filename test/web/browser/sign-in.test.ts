import { afterEach, expect, test } from "@jest/globals";
import type { Browser, Page } from "playwright-core";
import { CLIENT, startLoginGitHub, startLoginGitLab } from "../auth/forges.js";
import { OIDC_CLIENT, startIdentityProvider } from "../auth/identity-provider.js";
import { BASE_URL } from "../auth/site.js";
import { startSite, type SiteUnderTest } from "../site-under-test.js";
import { expectAccessible, keepScreenshot, openWindow, signIn } from "./browser.js";
import { startBrowser } from "./start-browser.js";

let browser: Browser | undefined;
let site: SiteUnderTest | undefined;

afterEach(async () => {
  await browser?.close();
  await site?.stop();
});

/** The site under its public name, with every way to sign in. */
async function begin(): Promise<Page> {
  const [github, gitlab, oidc] = await Promise.all([startLoginGitHub(), startLoginGitLab(), startIdentityProvider()]);
  site = await startSite({
    baseUrl: BASE_URL,
    github: { api_url: github.apiUrl, web_url: github.url },
    auth: {
      hosta: CLIENT,
      hostb: { ...CLIENT, url: gitlab.url },
      oidc: { ...OIDC_CLIENT, name: "Example SSO", issuer_url: oidc.issuer },
    },
  });
  const { host } = new URL(site.url);
  browser = await startBrowser([`--host-resolver-rules=MAP ${new URL(BASE_URL).hostname} ${host}`]);
  return openWindow(browser, BASE_URL);
}

test("a person signs in with each provider, arrives at the requested page, and signs out", async () => {
  const page = await begin();
  for (const [provider, name] of [
    ["GitHub", "ana"],
    ["GitLab", "ana"],
    ["Example SSO", "ana"],
    ["basic", "olga"],
  ] as const) {
    await page.goto("/activity?action=synced");
    expect(new URL(page.url()).pathname).toBe("/login");
    if (provider === "GitHub") {
      await expectAccessible(page);
      await keepScreenshot(page, "login-providers");
    }
    if (provider === "GitLab") {
      await page.goto("/auth/hosta/callback?error=access_denied");
      await page.getByRole("heading", { level: 1 }).waitFor();
      await expectAccessible(page);
      await page.goto("/activity?action=synced");
    }
    if (provider === "basic") await signIn(page, "olga");
    else await page.getByRole("link", { name: `Sign in with ${provider}` }).click();
    await page.getByRole("heading", { name: "Activity" }).waitFor();
    expect(page.url()).toBe(`${BASE_URL}/activity?action=synced`);
    expect(await page.locator(".who").innerText()).toContain(name);
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByRole("heading", { name: "Sign in" }).waitFor();
  }
});
