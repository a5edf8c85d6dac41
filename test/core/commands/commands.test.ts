import { describe, expect, test } from "@jest/globals";
import { commandList, usageOf } from "../../../src/comments/refusal.js";
import { COMMAND_NAMES, COMMANDS } from "../../../src/core/commands/commands.js";
import { OPTIONS, type OptionName } from "../../../src/core/commands/options.js";
import { parseComment } from "../../../src/core/commands/parse-command.js";
import { SERVICE } from "../../../src/names.js";

const optionsOf = (name: (typeof COMMAND_NAMES)[number]) => Object.keys(COMMANDS[name].options) as OptionName[];

describe.each(COMMAND_NAMES)("%s", (name) => {
  test("is read from a comment, with each of its options", () => {
    const flags = optionsOf(name).map((option) => {
      const { flags: written, value } = OPTIONS[option];
      return value === undefined ? written[0] : `${written[0]} web`;
    });
    const valueOf = ({ value, isText }: (typeof OPTIONS)[OptionName]) => {
      if (isText === true) return "web";
      return value === undefined ? true : ["web"];
    };
    const command = { name, ...Object.fromEntries(optionsOf(name).map((one) => [one, valueOf(OPTIONS[one])])) };
    expect(parseComment(["svc", name, ...flags].join(" "), SERVICE)).toEqual({ kind: "command", command });
  });

  test("refuses the options of others", () => {
    for (const other of (Object.keys(OPTIONS) as OptionName[]).filter((one) => !optionsOf(name).includes(one))) {
      const { flags, value } = OPTIONS[other];
      const text = `svc ${name} ${flags[0]} ${value === undefined ? "" : "web"}`;
      expect(parseComment(text, SERVICE)).toMatchObject({ kind: "not-a-command" });
    }
  });

  test("is listed by help", () => {
    expect(commandList({ command: SERVICE })).toContain(`\`${usageOf(name, SERVICE)}\`: ${COMMANDS[name].summary}`);
  });
});
