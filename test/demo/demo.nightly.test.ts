import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { startDemo, type Demo } from "../../demo/demo.js";
import { listenNear } from "../../demo/listen-near.js";
import type { Scene } from "../../demo/scenes.js";
import type { SeenHost, Snapshot } from "../../demo/snapshot.js";
import { HOST_IDS, type HostId } from "../../src/names.js";
import { keptLogger } from "../secrets-in-logs/kept-logger.js";

/** Everything here runs in real time, on machines that may be busy. */
const log = keptLogger();
let demo: Demo;

beforeAll(async () => {
  demo = await startDemo({ port: 0, log });
});

afterAll(async () => {
  await demo.stop();
});

/** Every snapshot that the page would be sent, until one fits. */
async function until(fits: (host: SeenHost) => boolean, id: HostId, at = demo): Promise<SeenHost> {
  const ended = new AbortController();
  const response = await fetch(`${at.url}/api/events`, { signal: ended.signal });
  expect(response.headers.get("content-type")).toContain("text/event-stream");
  let text = "";
  try {
    for await (const chunk of response.body ?? []) {
      text += new TextDecoder().decode(chunk as Uint8Array);
      const events = text.split("\n\n");
      text = events.pop() ?? "";
      for (const event of events) {
        if (!event.startsWith("data: ")) continue;
        const snapshot = JSON.parse(event.slice("data: ".length)) as Snapshot;
        const host = snapshot.hosts.find((one) => one.id === id);
        if (host !== undefined && fits(host)) return host;
      }
    }
  } finally {
    ended.abort();
  }
  throw new Error("the stream of events ended");
}

const idle = (id: HostId, at = demo) => until(({ working }) => !working, id, at);

function post(act: string, body: unknown, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(`${demo.url}/api/${act}`, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  });
}

async function say(host: HostId, body: string, by = "ana", number = 1): Promise<SeenHost> {
  expect((await post("comment", { host, number, by, body })).status).toBe(202);
  return idle(host);
}

function answers(host: SeenHost, number = 1): readonly string[] {
  const request = host.requests.find((one) => one.number === number);
  return (request?.comments ?? []).filter(({ service }) => service).map(({ html }) => html);
}

const last = (host: SeenHost, number = 1) => answers(host, number).at(-1) ?? "";

function fact(host: SeenHost, kind: string, name: string) {
  const objects = host.applications[0]?.objects ?? [];
  return objects.find((one) => one.kind === kind)?.facts.find((one) => one.name === name);
}

describe.each(HOST_IDS)("the story on %s", (id) => {
  test("begins with a change request that is planned and has locked its applications", async () => {
    const host = await idle(id);
    const [first] = host.requests;
    expect(first).toMatchObject({ number: 1, author: "ana", state: "open" });
    expect(first).not.toHaveProperty("approval");
    expect(first?.files.map(({ path }) => path)).toHaveLength(3);
    expect(answers(host)).toHaveLength(1);
    expect(last(host)).toContain("<h2>svc Plan</h2>");
    expect(last(host)).toContain('<span class="diff-add">+  replicas: 3');
    expect(host.locks.map(({ number, user }) => [number, user])).toEqual([
      [1, "ana"],
      [1, "ana"],
    ]);
    expect(host.applications.map(({ sync, health }) => [sync, health])).toEqual(Array(5).fill(["Synced", "Healthy"]));
    expect(fact(host, "Deployment", "replicas")).toEqual({ name: "replicas", value: "2" });
  });

  test("refuses a sync before the approval, and whoever may only read", async () => {
    expect(last(await say(id, "svc sync"))).toContain("PR must be approved before sync");
    expect(last(await say(id, "svc plan", "olga"))).toContain("no write access");
  });

  test("names the first as the holder when a second one wants the same application", async () => {
    const opened = await post("open", { host: id, scene: "small" });
    expect(await opened.json()).toEqual({ number: 2 });
    const host = await idle(id);
    expect(last(host, 2)).toContain("Locked by PR #1 (ana)");
  });

  test("shows comments with HTML in them as harmless text", async () => {
    const host = await say(id, 'good <img src="x" onerror="alert(1)"> <script>alert(2)</script> **work**', "bo");
    const html = host.requests[0]?.comments.at(-1)?.html ?? "";
    expect(html).toContain("<strong>work</strong>");
    expect(html).not.toMatch(/<img|<script|onerror/);
  });

  test("deploys one application after the approval, and marks what changed", async () => {
    expect((await post("approve", { host: id, number: 1 })).status).toBe(202);
    expect((await idle(id)).requests[0]?.approval).toEqual({ by: "bo", current: true });
    const [application = ""] = (await idle(id)).applications.map(({ name }) => name);
    const host = await say(id, `svc sync -a ${application}`);
    expect(last(host)).toContain("succeeded");
    expect(host.requests[0]?.state).toBe("open");
    expect(fact(host, "Deployment", "replicas")).toEqual({ name: "replicas", value: "3", was: "2" });
    expect(fact(host, "Deployment", "image")?.value).toMatch(/:1\.5\.0$/);
    expect(fact(host, "ConfigMap", "banner")).toEqual({ name: "banner", value: "Spring sale", was: "Welcome" });
    expect(fact(host, "ConfigMap", "currency")).toEqual({ name: "currency", value: "EUR" });
    // The second one waited for the application that is free again.
    expect(host.locks.map(({ number }) => number)).toEqual([1, 2]);
    expect(host.applications[0]?.sync).toBe("OutOfSync");
  });

  test("puts everything back on a rollback", async () => {
    const host = await say(id, "svc rollback");
    expect(last(host)).toContain("svc Rollback");
    expect(fact(host, "Deployment", "replicas")).toEqual({ name: "replicas", value: "2", was: "3" });
    // What was never deployed keeps its lock, and what was rolled back goes to the one who waits.
    expect(host.locks.map(({ number }) => number).sort()).toEqual([1, 2]);
    expect(last(host)).toContain("Not rolled back, because it was never deployed from here; the lock is kept:");
  });

  test("plans a further commit, whose approval is out of date", async () => {
    expect((await post("push", { host: id, number: 1 })).status).toBe(202);
    const host = await idle(id);
    expect(host.requests[0]?.approval).toEqual({ by: "bo", current: false });
    expect(last(host)).toContain(":1.5.1");
    expect(answers(host)[0]).toContain("Outdated plan");
  });

  test("deploys everything, merges, and takes the branch away", async () => {
    await say(id, "svc unlock", "bo", 2);
    await post("approve", { host: id, number: 1 });
    await idle(id);
    const host = await say(id, "svc sync");
    expect(host.requests[0]).toMatchObject({ state: "merged", branchDeleted: true });
    expect(host.requests[0]?.mergedBy).not.toMatch(/^(?:ana|bo|olga)?$/);
    expect(host.locks).toEqual([]);
    expect(fact(host, "Deployment", "image")?.value).toMatch(/:1\.5\.1$/);
    expect(host.applications.map(({ sync }) => sync)).toEqual(Array(5).fill("Synced"));
    const again = await post("push", { host: id, number: 1 });
    expect(again.status).toBe(409);
    expect(await again.json()).toEqual({ error: "Number 1 is merged. Open another one to continue." });
  });

  test("goes on with the second, which starts from its own branch", async () => {
    const host = await say(id, "svc plan", "bo", 2);
    expect(host.locks.map(({ number }) => number)).toEqual([2]);
    expect(last(host, 2)).toContain("discount_percent");
  });
});

describe.each(HOST_IDS)("a scene on %s", (id) => {
  async function open(scene: Scene): Promise<number> {
    const opened = await post("open", { host: id, scene });
    const { number } = (await opened.json()) as { number: number };
    await idle(id);
    return number;
  }

  test("deletes a volume, and svc warns of it", async () => {
    const number = await open("danger");
    const plan = last(await idle(id), number);
    expect(plan).toMatch(/PersistentVolumeClaim \w+\/\w+-data-1: its data is lost/);
    await post("approve", { host: id, number });
    await idle(id);
    const host = await say(id, "svc sync --prune", "bo", number);
    expect(host.requests.find((one) => one.number === number)?.state).toBe("merged");
    const volumes = host.applications.flatMap(({ objects }) => objects.filter((one) => one.kind.endsWith("Claim")));
    expect(volumes.map(({ name }) => name)).toEqual([expect.stringMatching(/-data-2$/)]);
  });

  test("changes a Secret, whose values svc does not show", async () => {
    const number = await open("secret");
    const host = await idle(id);
    expect(last(host, number)).toContain("Secret");
    const value = Buffer.from("password number 2").toString("base64");
    expect(last(host, number)).not.toContain(value);
    const request = host.requests.find((one) => one.number === number);
    expect(request?.files[0]?.html).toContain(value);
  });

  test("fails to sync, until a commit mends it", async () => {
    const number = await open("failure");
    await post("approve", { host: id, number });
    await idle(id);
    const failed = await say(id, "svc sync", "bo", number);
    expect(last(failed, number)).toContain('namespaces "reports" not found');
    const request = failed.requests.find((one) => one.number === number);
    expect(request?.comments.findLast(({ service }) => !service)?.reactions).toEqual(["eyes", "confused"]);
    expect(request?.status).toMatchObject({ state: "failure", description: expect.stringContaining("sync failed") });
    await post("push", { host: id, number });
    await post("approve", { host: id, number });
    await idle(id);
    const done = await say(id, "svc sync", "bo", number);
    expect(done.requests.find((one) => one.number === number)?.state).toBe("merged");
  });
});

describe("svc's own pages", () => {
  test("are open to whoever opened the demo, with the diff of each change request", async () => {
    const response = await fetch(demo.url);
    const [cookie = ""] = response.headers.getSetCookie();
    const headers = { cookie: cookie.split(";")[0] ?? "", accept: "text/html" };
    for (const id of HOST_IDS) {
      const page = (await idle(id)).requests[0]?.page ?? "";
      const text = await (await fetch(page, { headers })).text();
      expect(text).toContain("Sign out");
      expect(text).toContain('<pre class="diff">');
    }
    const { pages } = await demo.snapshot();
    expect(await (await fetch(`${pages}/status`, { headers })).text()).toContain("Store (embedded)");
  });

  test("let the visitor in again after a sign-out", async () => {
    const cookieOf = async () => (await fetch(demo.url)).headers.getSetCookie()[0]?.split(";")[0] ?? "";
    const { pages } = await demo.snapshot();
    const first = await cookieOf();
    expect(await cookieOf()).toBe(first);
    await fetch(`${pages}/auth/logout`, { method: "POST", headers: { cookie: first } });
    const second = await cookieOf();
    expect(second).not.toBe(first);
    expect((await fetch(`${pages}/auth/me`, { headers: { cookie: second } })).status).toBe(200);
  });
});

describe("the page", () => {
  test.each([
    ["/", "text/html", "svc sync"],
    ["/page.js", "javascript", "EventSource"],
    ["/page.css", "text/css", "prefers-color-scheme"],
  ])("serves %s without anything from elsewhere", async (path, type, part) => {
    const response = await fetch(`${demo.url}${path}`);
    const text = await response.text();
    expect(response.headers.get("content-type")).toContain(type);
    expect(response.headers.get("content-security-policy")).toContain("default-src 'none';script-src 'self'");
    expect(text).toContain(part);
    expect(text).not.toMatch(/(?:src|href|url)\s*[=(]\s*["']?(?:https?:)?\/\//);
  });

  test.each<[string, string, unknown, number, RegExp]>([
    [
      "a number that nobody opened",
      "comment",
      { host: "hosta", number: 99, by: "ana", body: "svc plan" },
      404,
      /no number 99/,
    ],
    ["an empty comment", "comment", { host: "hosta", number: 1, by: "ana", body: " \n" }, 400, /Write a comment first/],
    [
      "a comment without end",
      "comment",
      { host: "hosta", number: 1, by: "ana", body: "x".repeat(10_001) },
      400,
      /at most/,
    ],
    ["a person that there is not", "comment", { host: "hosta", number: 1, by: "root", body: "hi" }, 400, /by/],
    ["a host that there is not", "open", { host: "hostc", scene: "small" }, 400, /host/],
    ["a scene that there is not", "open", { host: "hosta", scene: "dance" }, 400, /scene/],
    ["no object", "comment", [], 400, /object/],
    ["a body that is too long", "comment", { body: "x".repeat(70_000) }, 413, /too large/],
    ["an act that there is not", "dance", {}, 404, /Not found/],
  ])("says what is wrong with %s", async (_name, act, body, status, text) => {
    const response = await post(act, body);
    expect(response.status).toBe(status);
    expect(((await response.json()) as { error: string }).error).toMatch(text);
  });

  test("takes no orders from other sites", async () => {
    expect((await post("reset", {}, { "sec-fetch-site": "cross-site" })).status).toBe(403);
    expect((await post("reset", {}, { "content-type": "text/plain" })).status).toBe(415);
  });
});

test("starting over begins the story again, and those who come too early are told", async () => {
  const resetting = post("reset", {});
  while ((await demo.snapshot()).phase !== "starting") await fetch(`${demo.url}/api/state`);
  const early = await post("comment", { host: "hosta", number: 1, by: "ana", body: "svc plan" });
  expect(early.status).toBe(503);
  expect(await early.json()).toEqual({ error: "The demo is starting over. Try again in a few seconds." });
  expect((await resetting).status).toBe(202);
  const host = await idle("hosta");
  expect(host.requests).toHaveLength(1);
  expect(host.requests[0]?.state).toBe("open");
  expect(fact(host, "Deployment", "replicas")).toEqual({ name: "replicas", value: "2" });
});

test("takes another port when the one that was asked for is in use, and says so", async () => {
  const first = await listenNear(() => undefined, 0);
  const port = Number(new URL(first.url).port);
  const second = await listenNear(() => undefined, port);
  expect(first.gotPort).toBe(true);
  expect(second.gotPort).toBe(false);
  expect(second.url).not.toBe(first.url);
  await Promise.all([first.stop(), second.stop()]);
});
