import { describe, expect, test } from "@jest/globals";
import type nock from "nock";
import { interceptRequests } from "../intercept.js";
import { HEAD, MERGE_REQUEST, OTHER, change, gitlabUnderTest, mergeRequest } from "./gitlab-under-test.js";

interceptRequests();

const PUSHED = "2026-03-02T11:00:00.000Z";
const LATER = "2026-03-02T11:05:00.000Z";
const EARLIER = "2026-03-02T10:55:00.000Z";

const by = (username: string, id: number, approved_at: string | undefined = LATER) => ({
  user: { id, username },
  approved_at,
});
const ben = by("ben", 102);
const untimed = { approvals: { approved_by: [{ user: ben.user }] } };
const note = (created_at: string, more: object = {}) => ({
  body: "approved this merge request",
  system: true,
  author: { id: 102 },
  created_at,
  ...more,
});
const MUCH_LATER = "2026-03-02T11:05:00.001Z";
const newest = { head_commit_sha: HEAD, created_at: PUSHED };
const first = { head_commit_sha: OTHER, created_at: "2026-03-02T10:00:00.000Z" };

interface Given {
  readonly approvals?: object;
  readonly versions?: readonly object[];
  readonly reviewers?: readonly object[] | 404;
  readonly merge?: Record<string, unknown>;
  /** Role of the approvers in the project; undefined: no member. Developer when absent. */
  readonly role?: { readonly access_level: number; readonly state: string } | undefined;
  /** What GitLab says of each approver's account; a person's when absent. */
  readonly account?: readonly [status: number, body: object];
  /** What GitLab noted, newest first; nothing when absent. */
  readonly notes?: readonly object[];
  /** Approval rules; GitLab knows none when absent. */
  readonly rules?: readonly object[];
}

const DEVELOPER = { access_level: 30, state: "active" };

/** Answers the reads that depend on what else was answered. */
function allowDetails(api: nock.Scope, given: Given): void {
  const role = "role" in given ? given.role : DEVELOPER;
  const answer = (path: string) =>
    role === undefined ? [404, { message: "404 Not found" }] : [200, { id: Number(/\d+$/.exec(path)?.[0]), ...role }];
  api
    .get(/\/members\/all\/\d+$/)
    .times(50)
    .optionally()
    .reply(answer);
  const [status, account] = given.account ?? [200, { bot: false }];
  api
    .get(/\/users\/\d+$/)
    .times(50)
    .optionally()
    .reply(status, account);
  const { rules, notes = [] } = given;
  api
    .get(/\/notes\?/)
    .optionally()
    .reply(200, [...notes]);
  api
    .get(`${MERGE_REQUEST}/approval_state`)
    .optionally()
    .reply(rules === undefined ? 404 : 200, { rules });
}

async function approvalOf(given: Given) {
  const { host, api } = gitlabUnderTest();
  allowDetails(api, given);
  api.get("/user").reply(200, { id: 900, username: "svc" });
  api.get(MERGE_REQUEST).reply(200, mergeRequest(given.merge));
  api.get(`${MERGE_REQUEST}/approvals`).reply(200, { approved: true, approved_by: [ben], ...given.approvals });
  api.get(`${MERGE_REQUEST}/versions`).reply(200, [...(given.versions ?? [newest, first])]);
  const { reviewers = [] } = given;
  if (reviewers === 404) api.get(`${MERGE_REQUEST}/reviewers`).reply(404, { message: "404 Not Found" });
  else api.get(`${MERGE_REQUEST}/reviewers`).reply(200, [...reviewers]);
  return host.reviews(change);
}

describe("approved", () => {
  test.each<[string, Given]>([
    ["without approval rules", {}],
    ["with all rules met", { approvals: { approvals_required: 1, approvals_left: 0 } }],
    ["whatever the order of the versions", { versions: [first, newest] }],
    ["on a GitLab that lists no reviewers", { reviewers: 404 }],
    ["while something else hinders the merge", { merge: { detailed_merge_status: "ci_must_pass" } }],
    [
      "without a time, when there was never another version",
      { approvals: { approved_by: [{ user: ben.user }] }, versions: [newest] },
    ],
    ["without a time, by a note of more than five minutes after the push", { ...untimed, notes: [note(MUCH_LATER)] }],
    ["beside a stale approval", { approvals: { approved_by: [by("olga", 103, EARLIER), ben] } }],
    ["by a Maintainer", { role: { access_level: 40, state: "active" } }],
    ["beside the author's own", { approvals: { approved_by: [by("ana", 101), ben] } }],
  ])("%s", async (_, given) => {
    expect(await approvalOf(given)).toMatchObject({
      approved: true,
      approvers: ["ben"],
      people: [{ login: "ben" }],
      missing: undefined,
    });
  });
});

describe("not approved", () => {
  test.each<[string, Given, RegExp]>([
    [
      "GitLab calls an empty list of rules approved",
      { approvals: { approved_by: [] } },
      /Nobody other than the author/,
    ],
    ["a service account", { account: [200, { bot: true }] }, /^Nobody other than the author approved\.$/],
    [
      "an account of which GitLab does not say whether it is a program's",
      { account: [200, { username: "ben" }] },
      /^ben approved, but GitLab does not tell whether that is a person or a program/,
    ],
    [
      "an account that cannot be read",
      { account: [403, { message: "403 Forbidden" }] },
      /ben approved, but GitLab does not/,
    ],
    ["no longer a member", { role: undefined }, /ben approved without the role Developer/],
    ["a Reporter by now", { role: { access_level: 20, state: "active" } }, /ben approved without the role/],
    ["blocked by now", { role: { access_level: 50, state: "blocked" } }, /ben approved without the role/],
    [
      "a rule is open, and GitLab says whose approval it needs",
      {
        approvals: { approved: false, approvals_left: 2 },
        rules: [
          { name: "Security", approvals_required: 0, approved: true, rule_type: "regular" },
          {
            name: "Deploy\u202e\nteam",
            approvals_required: 2,
            approved: false,
            rule_type: "regular",
            approved_by: [{ username: "ben" }],
            eligible_approvers: [{ username: "ben" }, { username: "kim" }, { username: "olga" }],
          },
          { name: "*", approvals_required: 1, approved: false, rule_type: "code_owner", eligible_approvers: [] },
        ],
      },
      /not all met yet: "Deploy team" needs 1 more approval \(by kim, olga\); the rule of the code owners of "\*" needs 1 more approval\./,
    ],
    [
      "nobody, with a review asked for",
      {
        approvals: { approved_by: [] },
        reviewers: [{ user: { id: 103, username: "olga" }, state: "unreviewed" }],
      },
      /Nobody other.*A review was asked of olga\./,
    ],
    ["rules are not met", { approvals: { approved: false } }, /rules are not all met/],
    ["approvals are left", { approvals: { approvals_left: 1 } }, /rules are not all met/],
    ["GitLab does not say", { approvals: { approved: null } }, /rules are not all met/],
    ["the author alone", { approvals: { approved_by: [by("ana", 101)] } }, /Nobody other/],
    ["our own account alone", { approvals: { approved_by: [by("svc", 900)] } }, /Nobody other/],
    ["a bot alone", { approvals: { approved_by: [by("project_42_bot_ab12", 7)] } }, /Nobody other/],
    [
      "before the push",
      { approvals: { approved_by: [by("ben", 102, EARLIER)] } },
      /ben approved before.*approve again/,
    ],
    ["at the moment of the push", { approvals: { approved_by: [by("ben", 102, PUSHED)] } }, /before the newest/],
    ["at an unreadable time", { approvals: { approved_by: [by("ben", 102, "soon")] } }, /before the newest/],
    ["without a time or a note, after a push", untimed, /before 18\.5 does not tell.*no note by GitLab says that ben/],
    [
      "by a note of five minutes after the push",
      { ...untimed, notes: [note(LATER)] },
      /late, so that of ben may be older/,
    ],
    ["by a note before the push", { ...untimed, notes: [note(EARLIER)] }, /^ben approved before the newest commits/],
    ["by a note at an unreadable time", { ...untimed, notes: [note("soon")] }, /^ben approved before the newest/],
    ["by a comment", { ...untimed, notes: [note(MUCH_LATER, { system: false })] }, /no note by GitLab/],
    ["by the note of another", { ...untimed, notes: [note(MUCH_LATER, { author: { id: 101 } })] }, /no note by GitLab/],
    ["by a note of nobody", { ...untimed, notes: [note(MUCH_LATER, { author: null })] }, /no note by GitLab/],
    ["by an imported note", { ...untimed, notes: [note(MUCH_LATER, { imported: true })] }, /no note by GitLab/],
    [
      "by a note that was taken back since",
      { ...untimed, notes: [note(MUCH_LATER, { body: "unapproved this merge request" }), note(MUCH_LATER)] },
      /taken back since/,
    ],
    ["no version", { versions: [] }, /head commit changed|preparing/],
    [
      "the newest version is another commit",
      { versions: [{ ...newest, head_commit_sha: OTHER }] },
      /head commit changed/,
    ],
    ["the head moved", { merge: { sha: OTHER } }, /head commit changed/],
    ["changes requested", { merge: { detailed_merge_status: "requested_changes" } }, /A reviewer requested changes/],
    [
      "changes requested, hidden by another reason",
      { reviewers: [{ user: { id: 103, username: "olga" }, state: "requested_changes" }] },
      /olga requested changes/,
    ],
  ])("%s", async (_, given, missing) => {
    expect(await approvalOf(given)).toMatchObject({
      approved: false,
      missing: expect.stringMatching(missing),
    });
  });
});

test("waits while GitLab takes old approvals back", async () => {
  const { host, api, clock } = gitlabUnderTest();
  allowDetails(api, {});
  api.get("/user").reply(200, { id: 900, username: "svc" });
  api.get(MERGE_REQUEST).reply(200, mergeRequest({ detailed_merge_status: "approvals_syncing" }));
  api.get(MERGE_REQUEST).reply(200, mergeRequest());
  api.get(`${MERGE_REQUEST}/approvals`).reply(200, { approved: true, approved_by: [] });
  api.get(`${MERGE_REQUEST}/versions`).reply(200, [newest]);
  api.get(`${MERGE_REQUEST}/reviewers`).reply(200, []);
  expect(await host.reviews(change)).toMatchObject({ approved: false });
  expect(clock.sleeps).toEqual([500]);
});

test("waits while GitLab says no although no rule is open, as in the seconds after a push", async () => {
  const { host, api, clock } = gitlabUnderTest();
  allowDetails(api, {});
  api.get("/user").reply(200, { id: 900, username: "svc" });
  api.get(MERGE_REQUEST).reply(200, mergeRequest());
  const answer = (approved: boolean) => ({ approved, approvals_left: 0, approved_by: [ben] });
  api.get(`${MERGE_REQUEST}/approvals`).times(2).reply(200, answer(false));
  api.get(`${MERGE_REQUEST}/approvals`).reply(200, answer(true));
  api.get(`${MERGE_REQUEST}/versions`).reply(200, [newest]);
  api.get(`${MERGE_REQUEST}/reviewers`).reply(200, []);
  expect(await host.reviews(change)).toMatchObject({ approved: true });
  expect(clock.sleeps).toEqual([500, 1000]);
});

test("does not approve while GitLab never settles", async () => {
  const { host, api } = gitlabUnderTest();
  allowDetails(api, {});
  api.get("/user").reply(200, { id: 900, username: "svc" });
  api
    .get(MERGE_REQUEST)
    .times(6)
    .reply(200, mergeRequest({ detailed_merge_status: "checking" }));
  api.get(`${MERGE_REQUEST}/approvals`).reply(200, { approved: true, approved_by: [ben] });
  api.get(`${MERGE_REQUEST}/versions`).reply(200, [newest]);
  api.get(`${MERGE_REQUEST}/reviewers`).reply(200, []);
  const missing = expect.stringContaining("still computing");
  expect(await host.reviews(change)).toMatchObject({ approved: false, missing });
});
