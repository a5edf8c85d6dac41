import { describe, expect, test } from "@jest/globals";
import type { AccessCommand, AccessRule } from "../../../src/config/requirements.js";
import { applicationName } from "../../../src/core/model/brand.js";
import { HostFailure } from "../../../src/core/model/errors.js";
import { checkLists, confirmAccess, needsWriteAccess } from "../../../src/core/policy/access.js";
import { byNameAlone } from "../../../src/core/policy/effect-rules.js";
import type { CodeHost } from "../../../src/core/ports/code-host.js";
import { sampleChange } from "../../comments/samples.js";
import { CommandWorld } from "../commands/command-world.js";
import { sampleSettings } from "../sample-settings.js";

const [web, api, wiki] = ["web", "api", "wiki"].map(applicationName);
const ALL = byNameAlone([web, api, wiki].filter((name) => name !== undefined));
const change = sampleChange();
const ana = { id: "1", login: "Ana", bot: false };

const RULES: Readonly<Record<string, AccessRule>> = {
  web: { users: ["ana", "bo"], teams: ["acme/platform"] },
  api: { users: ["bo"], teams: ["acme/platform", "acme/api"] },
};

/** A host whose teams answer as told, and which counts what it was asked. */
function hostWith(teams: (asked: readonly string[]) => boolean, writer = true) {
  const asked: (readonly string[])[] = [];
  const host: CodeHost = Object.assign(new CommandWorld().host, {
    mayCommand: () => Promise.resolve(writer),
    belongsToAny: async (_change: unknown, _user: unknown, names: readonly string[]) => {
      asked.push(names);
      return Promise.resolve(teams(names));
    },
  });
  return { host, asked };
}

function contextOf(host: CodeHost, rules = RULES, user = ana) {
  const accessTo = ({ name }: { readonly name: string }, command: AccessCommand) =>
    command === "sync" ? [rules[name]].filter((rule) => rule !== undefined) : [];
  return { change, host, user, settings: sampleSettings({ accessTo }) };
}

describe("who may give a command for which application", () => {
  test("a login in the list, in any case of letters, asks for no team", async () => {
    const { host, asked } = hostWith(() => false);
    expect(await checkLists("sync", byNameAlone([applicationName("web")]), contextOf(host))).toBeUndefined();
    expect(asked).toEqual([]);
  });

  test("a member of one of the teams may; each list of teams is asked once", async () => {
    const { host, asked } = hostWith((names) => names.includes("acme/api"));
    const shared = { web: { users: [], teams: ["acme/api"] }, api: { users: ["bo"], teams: ["acme/api"] } };
    expect(await checkLists("sync", ALL, contextOf(host, shared))).toBeUndefined();
    expect(asked).toEqual([["acme/api"]]);
  });

  test("the refusal names the barred applications with who may, and those that remain", async () => {
    const { host } = hostWith(() => false);
    expect(await checkLists("sync", ALL, contextOf(host))).toEqual({
      reason: "not-allowed",
      command: "sync",
      login: "Ana",
      applications: [{ application: "api", allowed: [RULES.api], problem: undefined }],
      others: ["web", "wiki"],
    });
  });

  test("a list of users alone bars everybody else without a question", async () => {
    const { host, asked } = hostWith(() => true);
    const refusal = await checkLists("sync", ALL, contextOf(host, { web: { users: ["bo"], teams: [] } }));
    expect(refusal).toMatchObject({ reason: "not-allowed", others: ["api", "wiki"] });
    expect(asked).toEqual([]);
  });

  test("a host that cannot say keeps the person out, with its reason", async () => {
    const { host } = hostWith(() => {
      throw new HostFailure("forbidden", "the App lacks a permission");
    });
    expect(await checkLists("sync", ALL, contextOf(host))).toMatchObject({
      applications: [{ application: "api", problem: "the App lacks a permission" }],
      others: ["web", "wiki"],
    });
  });

  test("what is broken in the service itself is no answer of the host", async () => {
    const { host } = hostWith(() => {
      throw new TypeError("bug");
    });
    await expect(checkLists("sync", ALL, contextOf(host))).rejects.toThrow("bug");
  });

  test.each(["plan", "rollback", "unlock"] as const)("%s is free where the lists bind sync alone", async (command) => {
    const { host, asked } = hostWith(() => false);
    expect(await checkLists(command, ALL, contextOf(host))).toBeUndefined();
    expect(asked).toEqual([]);
  });
});

describe("access confirmed right before the first call that deploys", () => {
  test("write access lost meanwhile refuses, whatever the lists say", async () => {
    const { host } = hostWith(() => true, false);
    expect(await confirmAccess("sync", [], contextOf(host))).toEqual({ reason: "no-write-access", login: "Ana" });
  });

  test("with write access the lists decide", async () => {
    const { host } = hostWith(() => false);
    expect(await confirmAccess("sync", ALL, contextOf(host))).toMatchObject({ reason: "not-allowed" });
    expect(await confirmAccess("sync", ALL, contextOf(host, {}))).toBeUndefined();
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
