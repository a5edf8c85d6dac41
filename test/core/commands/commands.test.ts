import { describe, expect, test } from "@jest/globals";
import { COMMAND_LIST } from "../../../src/comments/refusal.js";
import { COMMAND_NAMES, COMMANDS, usageOf } from "../../../src/core/commands/commands.js";
import { OPTIONS, type OptionName } from "../../../src/core/commands/options.js";
import { parseComment } from "../../../src/core/commands/parse-command.js";
import { repositoryName } from "../../../src/core/model/brand.js";
import { auditRecordOf, readAuditEntry } from "../../../src/store/redis/audit-record.js";

const optionsOf = (name: (typeof COMMAND_NAMES)[number]) => Object.keys(COMMANDS[name].options) as OptionName[];

describe.each(COMMAND_NAMES)("%s", (name) => {
  test("is read from a comment, with each of its options", () => {
    const flags = optionsOf(name).map((option) => {
      const { flags: written, value } = OPTIONS[option];
      return value === undefined ? written[0] : `${written[0]} web`;
    });
    const command = {
      name,
      ...Object.fromEntries(optionsOf(name).map((one) => [one, OPTIONS[one].value ? ["web"] : true])),
    };
    expect(parseComment(["svc", name, ...flags].join(" "))).toEqual({ kind: "command", command });
  });

  test("refuses the options of others", () => {
    for (const other of (Object.keys(OPTIONS) as OptionName[]).filter((one) => !optionsOf(name).includes(one))) {
      const { flags, value } = OPTIONS[other];
      const text = `svc ${name} ${flags[0]} ${value === undefined ? "" : "web"}`;
      expect(parseComment(text)).toEqual({ kind: "not-a-command" });
    }
  });

  test("is listed by help", () => {
    expect(COMMAND_LIST).toContain(`\`${usageOf(name)}\`: ${COMMANDS[name].summary}`);
  });

  test("can be read back from the audit trail", () => {
    const entry = {
      at: "2026-01-01T00:00:00.000Z",
      run: "r1",
      delivery: "",
      who: "svc",
      change: { host: "hosta", repository: repositoryName("acme/deploy"), number: 7 },
      head: undefined,
      action: "failed",
      command: name,
      applications: [],
      reason: undefined,
    } as const;
    expect(readAuditEntry(auditRecordOf(entry), "1-0")).toEqual(entry);
  });
});
