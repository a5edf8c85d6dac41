import { afterEach, expect, test } from "@jest/globals";
import { HostFailure } from "../../../src/core/model/errors.js";
import { type ChangeSummary, MOST_PER_MINUTE } from "../../../src/web/host-summaries.js";
import { sampleChange } from "../../comments/samples.js";
import { failedSync, fillStores, PULL } from "../sample-stores.js";
import { type SiteOptions, type SiteUnderTest, startSite } from "../site-under-test.js";

const CHANGE = "/changes/github/acme/deploy/7";
const NEXT: ChangeSummary["next"] = { kind: "command", command: "plan", applications: [], by: [] };
const running = new Set<SiteUnderTest>();

afterEach(async () => {
  const sites = [...running];
  running.clear();
  await Promise.all(sites.map((site) => site.stop()));
});

async function start(options: SiteOptions): Promise<SiteUnderTest> {
  const site = await startSite(options);
  running.add(site);
  await fillStores(site.stores, site.clock);
  return site;
}

/** A host that says this, and counts how often it is asked. */
function answering(more: Partial<ChangeSummary> = {}) {
  const asked = { times: 0 };
  const lookUp = async () => {
    asked.times += 1;
    return {
      change: sampleChange(),
      planned: true,
      approval: undefined,
      missingForRules: undefined,
      next: NEXT,
      ...more,
    };
  };
  return { asked, lookUp };
}

const text = async (site: SiteUnderTest) => (await (await site.visitor("ana")).ask(CHANGE)).text;

test("the page begins with title, author, next step, approval and the last failure, before everything else", async () => {
  const { lookUp } = answering({ change: { ...sampleChange(), title: "Sale <b>& more" } });
  const site = await start({ lookUp });
  await site.stores.audit.record(failedSync(site.clock, "namespaces <shop> not found"));
  const page = await text(site);
  const order = [
    "<h1>Sale &lt;b&gt;&amp; more</h1>",
    "<strong>acme/deploy#7</strong>",
    "by ana",
    "<dt>Next step</dt>",
    "comment <code>svc plan</code>",
    "<dt>Approval</dt>",
    "not required",
    "<dt>Last failure</dt>",
    "sync failed",
    "namespaces &lt;shop&gt; not found",
    '<h2 id="state-title">',
  ].map((part) => page.indexOf(part));
  expect(order).not.toContain(-1);
  expect(order).toEqual([...order].sort((left, right) => left - right));
});

test.each<[string, Partial<ChangeSummary>, readonly string[], readonly string[]]>([
  [
    "an approval is missing",
    { approval: { approved: false, approvers: [], people: [], missing: "nobody has <approved> it yet" } },
    ['<span class="badge attention">needed</span> nobody has &lt;approved&gt; it yet'],
    [],
  ],
  [
    "it is approved",
    { approval: { approved: true, approvers: ["bo", "cy"], people: [], missing: undefined } },
    ['<span class="badge good">by bo, cy</span>'],
    [],
  ],
  [
    "the approval does not count for the rules",
    { missingForRules: "an owner of the rules has to approve" },
    ["an owner of the rules has to approve"],
    [],
  ],
  ["it is a draft", { change: { ...sampleChange(), draft: true } }, ['<span class="badge attention">draft</span>'], []],
  [
    "it is merged",
    { change: { ...sampleChange(), state: "merged" }, next: { kind: "none", because: "merged" } },
    ['<span class="badge ">merged</span>', "nothing is left to do here"],
    ["<dt>Approval</dt>"],
  ],
])("says so when %s", async (_when, standing, shown, absent) => {
  const page = await text(await start(answering(standing)));
  for (const part of shown) expect(page).toContain(part);
  for (const part of absent) expect(page).not.toContain(part);
});

test("the host is asked once for ten seconds, and anew when the stores say something else", async () => {
  const { asked, lookUp } = answering();
  const site = await start({ lookUp });
  const visitor = await site.visitor("ana");
  await Promise.all([visitor.ask(CHANGE), visitor.ask(CHANGE)]);
  await visitor.ask(CHANGE);
  expect(asked.times).toBe(1);
  const [lock] = await site.stores.locks.list(PULL);
  if (lock !== undefined) await site.stores.locks.release(lock.application, PULL);
  await visitor.ask(CHANGE);
  expect(asked.times).toBe(2);
  site.clock.advance(11_000);
  await visitor.ask(CHANGE);
  expect(asked.times).toBe(3);
});

test("nobody is asked, and no title is shown, for those who see no diffs", async () => {
  const { asked, lookUp } = answering({ change: { ...sampleChange(), title: "A title" } });
  for (const auth of [false, { diffs: "readers" }] as const) {
    const site = await start({ lookUp, auth });
    const visitor = auth === false ? site.stranger() : await site.visitor("ana");
    const { status, text: page } = await visitor.ask(CHANGE);
    expect([status, page.includes("A title"), page.includes("<h1>acme/deploy#7</h1>")]).toEqual([200, false, true]);
  }
  expect(asked.times).toBe(0);
});

test("pages do not use up what the host lets svc ask", async () => {
  const { asked, lookUp } = answering();
  const site = await start({ lookUp });
  const visitor = await site.visitor("ana");
  for (let times = 0; times < MOST_PER_MINUTE + 5; times += 1) {
    await site.stores.plans.save({ ...(await planOf(site)), plannedAt: new Date(times).toISOString() });
    await visitor.ask(CHANGE);
  }
  expect(asked.times).toBe(MOST_PER_MINUTE);
  expect((await visitor.ask(CHANGE)).text).toContain("Too many pages were opened within a minute.");
  site.clock.advance(61_000);
  expect((await visitor.ask(CHANGE)).text).toContain("<dt>Approval</dt>");
});

test("a host that does not answer leaves the rest of the page as it is", async () => {
  const lookUp = () => Promise.reject(new HostFailure("unreachable", "GitHub does not answer"));
  const site = await start({ lookUp });
  const page = await text(site);
  expect(page).toContain("Title, approval and next step are missing here: GitHub does not answer.");
  expect(page).toContain("<h1>acme/deploy#7</h1>");
  expect(page).toContain('<pre class="diff">');
});

async function planOf({ stores }: SiteUnderTest) {
  const plan = await stores.plans.find(PULL);
  if (plan === undefined) throw new Error("no plan is stored");
  return plan;
}

test("what svc has shown elsewhere since, such as an approval, is on the next page, not when the cached answer expires", async () => {
  const { asked, lookUp } = answering();
  const site = await start({ lookUp });
  await text(site);
  await text(site);
  expect(asked.times).toBe(1);
  await site.stores.marks.wrote(PULL, "status", "digest of the status with the approval");
  await text(site);
  expect(asked.times).toBe(2);
});
