import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import type { GitHubForge } from "../../sandbox/github/github-forge.js";
import { startForges, type Forges } from "../../sandbox/world.js";
import { RawConnection } from "../raw-connection.js";
import { Operator } from "../setup/operator.js";
import { formIn, startRegistration, type Registration } from "../setup/registration.js";
import { Visitor } from "../web/visitor.js";

let operator: Operator;
let world: Forges;
let forge: GitHubForge;

beforeEach(async () => {
  operator = await Operator.create();
  world = await startForges({ github: true });
  if (world.github === undefined) throw new Error("no GitHub");
  forge = world.github;
});
afterEach(async () => {
  expect(forge.violations).toEqual([]);
  await world.stop();
  await operator.leave();
});

const start = (...more: readonly string[]): Promise<Registration> =>
  startRegistration(operator, ["--url", "https://svc.example.org", "--github", forge.url, ...more]);

const conversions = () => forge.requests.filter(({ path }) => path.includes("conversions"));

/** Setup ended without an App, and kept nothing. */
async function nothingHappened(registration: Registration): Promise<void> {
  expect((await registration.expire()).exitCode).toBe(1);
  expect(conversions()).toEqual([]);
  expect(await operator.files()).toEqual({});
}

describe("the pages of svc setup", () => {
  test("do nothing without the code that the terminal shows", async () => {
    const registration = await start();
    const stranger = new Visitor(registration.url);
    for (const path of ["/register", "/registered?code=abc&state=abc", "/registered"]) {
      const refused = await stranger.open(path);
      expect([path, refused.status]).toEqual([path, 403]);
      expect(refused.text).not.toMatch(/manifest|state=/);
    }
    stranger.setCookie("svc_setup", "guessed");
    expect((await stranger.open("/register")).status).toBe(403);
    for (const body of ["", "code=", "code=0000-0000-0000-0000", "code[]=1&code[a]=2"]) {
      const form = Object.fromEntries(new URLSearchParams(body));
      expect((await stranger.open("/", { form })).status).toBe(403);
    }
    expect((await stranger.open("/nowhere")).status).toBe(404);
    await nothingHappened(registration);
  });

  test("end after five wrong codes, so that nobody tries all of them", async () => {
    const registration = await start();
    const stranger = new Visitor(registration.url);
    const wrong = { code: registration.code.startsWith("0") ? "1111-1111" : "0000-0000" };
    for (let attempt = 1; attempt <= 5; attempt += 1) await stranger.open("/", { form: wrong });
    const { exitCode, output } = await registration.ended;
    expect({ exitCode, output }).toMatchObject({ exitCode: 1, output: expect.stringContaining("five wrong codes") });
    await expect(stranger.open("/", { form: { code: registration.code } })).rejects.toThrow("fetch failed");
  });

  test("take the code once, from one browser", async () => {
    const registration = await start();
    expect((await registration.enter(registration.code)).status).toBe(200);
    const later = new Visitor(registration.url);
    const refused = await later.open("/", { form: { code: registration.code } });
    expect(refused).toMatchObject({ status: 403, text: expect.stringContaining("used already") });
    expect((await later.open("/register")).status).toBe(403);
    expect((await registration.browser.open("/")).text).toContain("Create the App at GitHub");
    await nothingHappened(registration);
  });

  test("refuse an App that another page or another setup asked GitHub for", async () => {
    const registration = await start();
    const back = new URL(await registration.createApp());
    const right = back.searchParams.get("state") ?? "";
    for (const state of [undefined, "", `${right}0`, right.slice(1), right.toUpperCase()]) {
      if (state === undefined) back.searchParams.delete("state");
      else back.searchParams.set("state", state);
      expect((await registration.browser.open(back.href)).status).toBe(403);
    }
    back.searchParams.set("state", right);
    // The right address, in a browser that has not given the code.
    expect((await new Visitor(registration.url).open(back.href)).status).toBe(403);
    for (const code of ["", "a/../../user", "ä", "x".repeat(256)]) {
      back.searchParams.set("code", code);
      expect((await registration.browser.open(back.href)).status).toBe(400);
    }
    await nothingHappened(registration);
  });

  test("fetch the key once, however often GitHub's redirect is repeated", async () => {
    const registration = await start();
    const back = await registration.createApp();
    const answers = await Promise.allSettled([1, 2, 3].map(() => registration.browser.ask(back)));
    const statuses = answers.map((answer) => (answer.status === "fulfilled" ? answer.value.status : "ended"));
    expect(statuses.filter((status) => status === 200)).toEqual([200]);
    expect(statuses.filter((status) => status !== 200 && status !== 409 && status !== "ended")).toEqual([]);
    expect((await registration.ended).exitCode).toBe(0);
    expect(conversions()).toHaveLength(1);
  });

  test("answer no name that a stranger's site may have, and no other site's forms", async () => {
    const registration = await start();
    const { host, port } = new URL(registration.url);
    for (const name of [
      "evil.example",
      `evil.example:${port}`,
      `127.0.0.1.evil.example:${port}`,
      "",
      "0.0.0.0",
      "[::2]",
    ]) {
      const connection = await RawConnection.open(registration.url);
      connection.write(`GET / HTTP/1.1\r\nhost: ${name}\r\nconnection: close\r\n\r\n`);
      const { status, body } = await connection.answer();
      expect([name, status]).toEqual([name, 421]);
      expect(body).not.toContain("form");
    }
    const form = { code: registration.code };
    const foreign: readonly Readonly<Record<string, string>>[] = [
      { "sec-fetch-site": "cross-site" },
      { origin: "https://evil.example" },
      { origin: "null" },
    ];
    for (const headers of foreign) {
      expect((await registration.browser.open("/", { form, headers })).status).toBe(403);
    }
    // None of them counted as an attempt.
    const own = { origin: `http://${host}`, "sec-fetch-site": "same-origin" };
    expect((await registration.browser.open("/", { form, headers: own })).status).toBe(200);
    await nothingHappened(registration);
  });

  test("are never framed, kept or sent elsewhere, and run no script", async () => {
    const registration = await start();
    const first = await registration.browser.open("/");
    const second = await registration.enter(registration.code);
    for (const { headers } of [first, second]) {
      const policy = headers.get("content-security-policy") ?? "";
      expect(policy).toContain("default-src 'none'");
      expect(policy).toContain("frame-ancestors 'none'");
      expect(headers.get("x-frame-options")).toBe("SAMEORIGIN");
      expect(headers.get("cache-control")).toBe("no-store");
      expect(headers.get("referrer-policy")).toBe("same-origin");
    }
    expect(first.headers.get("content-security-policy")).toMatch(/form-action 'self'(?:;|$)/);
    expect(second.headers.get("content-security-policy")).toContain(`form-action 'self' ${forge.url};`);
    expect(registration.browser.cookie("svc_setup")?.attributes).toMatch(/HttpOnly.*SameSite=Lax/i);
    expect(first.text + second.text).not.toMatch(/<script|style=|\son\w+=/);
    await nothingHappened(registration);
  });

  test("show what people and GitHub wrote as text", async () => {
    const hostile = `"><img src=x>`;
    const registration = await start("--name", hostile);
    const page = await registration.enter(registration.code);
    expect(page.text).not.toContain("<img");
    expect(JSON.parse(formIn(page.text).fields.manifest ?? "")).toMatchObject({ name: hostile });
    await nothingHappened(registration);
  });

  test("follow no redirect of GitHub's with the code, and escape its refusals", async () => {
    const registration = await start();
    const back = await registration.createApp();
    const undo = forge.faults.add({
      path: /conversions$/,
      fault: { kind: "redirect", to: "http://127.0.0.1:9/app-manifests/x/conversions" },
    });
    const moved = await registration.browser.open(back);
    expect(moved).toMatchObject({ status: 502, text: expect.stringContaining("redirect") });
    undo();
    const body = JSON.stringify({ message: "<img src=x>" });
    const headers = { "content-type": "application/json" };
    forge.faults.add({ path: /conversions$/, fault: { kind: "status", status: 422, body, headers } });
    const refused = await registration.browser.open(back);
    expect(refused).toMatchObject({ status: 502, text: expect.stringContaining("&lt;img src=x&gt;") });
    expect((await registration.expire()).exitCode).toBe(1);
    expect(await operator.files()).toEqual({});
  });
});
