import { existsSync, readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "@jest/globals";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

interface Instruction {
  readonly name: string;
  readonly rest: string;
}

const instructions: readonly Instruction[] = readFileSync(`${ROOT}Dockerfile`, "utf8")
  .replace(/^#.*\n/gm, "")
  .replaceAll("\\\n", " ")
  .split("\n")
  .filter((line) => line.trim() !== "")
  .map((line) => ({ name: line.split(" ")[0] ?? "", rest: line.slice(line.indexOf(" ") + 1).trim() }));
const lastStage = instructions.slice(instructions.findLastIndex(({ name }) => name === "FROM"));
const rests = (name: string, of: readonly Instruction[] = instructions) =>
  of.filter((each) => each.name === name).map(({ rest }) => rest);

describe("the image", () => {
  test("stands on one pinned release line of Node, the same in every stage", () => {
    expect(rests("ARG")).toEqual(["NODE_IMAGE=node:24-bookworm-slim"]);
    expect(rests("FROM").map((rest) => rest.split(" ")[0])).toEqual(Array(3).fill("${NODE_IMAGE}"));
  });

  test("runs as a user who is not root, by number, and the folder for clones is theirs", () => {
    expect(lastStage.findLast(({ name }) => name === "USER")?.rest).toBe("1000:1000");
    expect(rests("RUN", lastStage).join("\n")).toContain("mkdir -p /data && chown 1000:1000 /data");
    const afterUser = lastStage.slice(lastStage.findIndex(({ name }) => name === "USER"));
    expect(afterUser.filter(({ name }) => name === "RUN" || name === "COPY")).toEqual([]);
  });

  test("has what runs from the lock file, without the development dependencies", () => {
    const inLast = rests("COPY", lastStage);
    expect(inLast).toContain("--from=dependencies /app/node_modules ./node_modules");
    const commands = rests("RUN").filter((rest) => rest.includes("npm "));
    expect(commands.filter((rest) => /npm (?:i|install)\b/.test(rest))).toEqual([]);
    expect(commands.find((rest) => rest.includes("--omit=dev"))).toMatch(/^npm ci /);
  });

  test("copies only what is there", () => {
    const copied = rests("COPY")
      .filter((rest) => !rest.startsWith("--from"))
      .flatMap((rest) => rest.split(" ").slice(0, -1));
    expect(copied.length).toBeGreaterThan(5);
    expect(copied.filter((path) => !existsSync(`${ROOT}${path}`))).toEqual([]);
  });

  test("carries every file that the service reads beside its own code", () => {
    const read = readdirSync(`${ROOT}src`, { recursive: true, encoding: "utf8" })
      .filter((name) => name.endsWith(".ts"))
      .flatMap((name) => [...readFileSync(`${ROOT}src/${name}`, "utf8").matchAll(/new URL\("(?:\.\.\/)+([^"/]+)/g)])
      .map(([, name = ""]) => name);
    const copied = rests("COPY", lastStage).flatMap((rest) => rest.split(" ").slice(0, -1));
    expect(new Set(read).size).toBeGreaterThan(1);
    expect(read.filter((name) => !copied.includes(name))).toEqual([]);
  });

  test("starts the service with the file that the documentation names, below a process that collects git's children", () => {
    expect(rests("ENTRYPOINT")).toEqual(['["tini", "--", "node", "dist/main.js"]']);
    expect(rests("CMD")).toEqual(['["-c", "/etc/svc/svc.yaml"]']);
    expect(rests("RUN", lastStage).join("\n")).toMatch(/--no-install-recommends git ca-certificates tini /);
  });

  test("is asked for its health at the port that it listens on", () => {
    expect(rests("EXPOSE")).toEqual(["4141"]);
    expect(rests("HEALTHCHECK").join()).toContain("http://127.0.0.1:4141/health");
  });
});
