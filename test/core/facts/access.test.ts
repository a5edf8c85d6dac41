import { describe, expect, test } from "@jest/globals";
import { type AccessContext, barredFrom, needsWriteAccess } from "../../../src/core/facts/access.js";
import { factsOfAsker } from "../../../src/core/facts/read-facts.js";
import { applicationName } from "../../../src/core/model/brand.js";
import { HostFailure } from "../../../src/core/model/errors.js";
import type { AccessCommand, AccessRule } from "../../../src/core/model/settings.js";
import { byNameAlone } from "../../../src/core/policy/effect-rules.js";
import { judge } from "../../../src/core/policy/judge.js";
import type { CodeHost } from "../../../src/core/ports/code-host.js";
import { sampleChange, sampleMember, WORDS } from "../../comments/samples.js";
import { CommandWorld } from "../commands/command-world.js";
import { sampleSettings } from "../sample-settings.js";

const NAMES = ["web", "api", "wiki"].map(applicationName);
const ALL = byNameAlone(NAMES);
const change = sampleChange();
const ana = { id: "1", login: "Ana", bot: false };

const RULES: Readonly<Record<string, AccessRule>> = {
  web: { users: ["ana", "bo"], teams: ["acme/platform"] },
  api: { users: ["bo"], teams: ["acme/platform", "acme/api"] },
};

/** A host whose teams answer as told, and which counts what it was asked. */
function hostWith(teams: (asked: readonly string[]) => boolean) {
  const asked: (readonly string[])[] = [];
  const host: CodeHost = Object.assign(new CommandWorld().host, {
    belongsToAny: async (_change: unknown, _user: unknown, names: readonly string[]) => {
      asked.push(names);
      return Promise.resolve(teams(names));
    },
  });
  return { host, asked };
}

function contextOf(host: CodeHost, rules = RULES, user = ana): AccessContext {
  const accessTo = ({ name }: { readonly name: string }, command: AccessCommand) =>
    command === "sync" || command === "unlock" ? [rules[name]].filter((rule) => rule !== undefined) : [];
  return { change, host, user, settings: sampleSettings({ accessTo }) };
}

/** What a command of these applications is refused, as far as its giver is concerned. */
async function refusalOf(command: AccessCommand, context: AccessContext, mayWrite = true) {
  const facts = await factsOfAsker(command, byNameAlone(NAMES), { ...context, hostWords: WORDS });
  const judged = { ...facts, asker: facts.asker && { ...facts.asker, mayWrite } };
  return judge(command, judged, (gate) => gate === "access" || gate === "write-access").refusal;
}

describe("who may give a command for which application", () => {
  test("a login in the list, in any case of letters, asks for no team", async () => {
    const { host, asked } = hostWith(() => false);
    expect(await barredFrom("sync", byNameAlone([applicationName("web")]), contextOf(host))).toEqual([]);
    expect(asked).toEqual([]);
  });

  test("a member of one of the teams may; each list of teams is asked once", async () => {
    const { host, asked } = hostWith((names) => names.includes("acme/api"));
    const shared = { web: { users: [], teams: ["acme/api"] }, api: { users: ["bo"], teams: ["acme/api"] } };
    expect(await barredFrom("sync", ALL, contextOf(host, shared))).toEqual([]);
    expect(asked).toEqual([["acme/api"]]);
  });

  test.each(["sync", "unlock"] as const)(
    "the refusal of %s names the barred applications with who may, and those that remain",
    async (command) => {
      const { host } = hostWith(() => false);
      expect(await refusalOf(command, contextOf(host))).toEqual({
        reason: "not-allowed",
        command,
        login: "Ana",
        applications: [{ application: "api", allowed: [RULES.api], problem: undefined }],
        others: ["web", "wiki"],
      });
    },
  );

  test("a list of users alone bars everybody else without a question", async () => {
    const { host, asked } = hostWith(() => true);
    const refusal = await refusalOf("unlock", contextOf(host, { web: { users: ["bo"], teams: [] } }));
    expect(refusal).toMatchObject({ reason: "not-allowed", others: ["api", "wiki"] });
    expect(asked).toEqual([]);
  });

  test("a host that cannot say keeps the person out, with its reason", async () => {
    const { host } = hostWith(() => {
      throw new HostFailure("forbidden", "the App lacks a permission");
    });
    expect(await refusalOf("unlock", contextOf(host))).toMatchObject({
      applications: [{ application: "api", problem: "the App lacks a permission" }],
      others: ["web", "wiki"],
    });
  });

  test("what is broken in the service itself is no answer of the host", async () => {
    const { host } = hostWith(() => {
      throw new TypeError("bug");
    });
    await expect(barredFrom("sync", ALL, contextOf(host))).rejects.toThrow("bug");
  });

  test.each(["plan", "rollback"] as const)("%s is free where the lists bind others alone", async (command) => {
    const { host, asked } = hostWith(() => false);
    expect(await barredFrom(command, ALL, contextOf(host))).toEqual([]);
    expect(await refusalOf(command, contextOf(host))).toBeUndefined();
    expect(asked).toEqual([]);
  });

  test("an application that a deployment reaches bars what is deployed", async () => {
    const { host } = hostWith(() => false);
    const members = [sampleMember("parent"), sampleMember("api")];
    const deployed = { application: applicationName("parent"), members };
    expect(await barredFrom("sync", [deployed], contextOf(host))).toEqual([
      { application: "api", through: "parent", allowed: [RULES.api], problem: undefined },
    ]);
  });
});

describe("access right before the first call that deploys", () => {
  test("write access lost meanwhile refuses, whatever the lists say", async () => {
    const { host } = hostWith(() => true);
    expect(await refusalOf("sync", contextOf(host), false)).toEqual({ reason: "no-write-access", login: "Ana" });
    const barring = hostWith(() => false);
    expect(await refusalOf("sync", contextOf(barring.host), false)).toMatchObject({ reason: "no-write-access" });
  });

  test("with write access the lists decide", async () => {
    const { host } = hostWith(() => false);
    expect(await refusalOf("sync", contextOf(host))).toMatchObject({ reason: "not-allowed" });
    expect(await refusalOf("sync", contextOf(host, {}))).toBeUndefined();
  });

  test.each([
    ["write", false, true],
    ["write", true, true],
    ["anyone", false, false],
    ["anyone", true, true],
  ] as const)("command_access %s, fork %p: write access is needed: %p", (commandAccess, fork, expected) => {
    expect(needsWriteAccess({ commandAccess }, { ...change, fork })).toBe(expected);
  });
});
