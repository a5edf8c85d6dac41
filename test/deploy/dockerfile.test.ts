import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "@jest/globals";
import { compiled } from "../compiled/compiled.js";

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

/** Arguments with which Node runs the image's health check, from the sources. */
function healthcheck(): readonly string[] {
  const command = /CMD (\[.*\])$/.exec(rests("HEALTHCHECK").join())?.[1] ?? "[]";
  const [program, bundled, ...files] = JSON.parse(command) as readonly string[];
  expect([program, bundled]).toEqual(["node", "dist/healthcheck.js"]);
  const module = compiled("config/healthcheck.js");
  return [
    ...(module === undefined ? ["--import", "tsx", "src/config/healthcheck.ts"] : [fileURLToPath(module)]),
    ...files,
  ];
}

describe("the image", () => {
  test("stands on one patch release of Node 26, the same in every stage, and Renovate pins its digest", () => {
    expect(rests("ARG")[0]).toMatch(/^NODE_IMAGE=node:26\.\d+\.\d+-trixie-slim(@sha256:[0-9a-f]{64})?$/);
    const renovate: unknown = JSON.parse(readFileSync(`${ROOT}renovate.json`, "utf8"));
    expect(renovate).toMatchObject({ extends: expect.arrayContaining(["docker:pinDigests"]) });
    expect(renovate).toMatchObject({
      packageRules: expect.arrayContaining([
        expect.objectContaining({ matchPackageNames: ["node"], allowedVersions: "/^26\\./" }),
      ]),
    });
    expect(rests("FROM").map((rest) => /\$\{\w+\}/.exec(rest)?.[0])).toEqual(Array(2).fill("${NODE_IMAGE}"));
  });

  test("is built on the platform of the builder as far as that makes no difference", () => {
    expect(rests("FROM")[0]).toBe("--platform=$BUILDPLATFORM ${NODE_IMAGE} AS build");
  });

  test("says where it comes from", () => {
    const labels = rests("LABEL", lastStage).join(" ");
    for (const name of ["source", "version", "revision"]) {
      expect(labels).toContain(`org.opencontainers.image.${name}="\${${name.toUpperCase()}}"`);
      expect(rests("ARG", lastStage).map((rest) => rest.split("=")[0])).toContain(name.toUpperCase());
    }
  });

  test("has no npm, and no source maps without their sources", () => {
    const run = rests("RUN", lastStage).join("\n");
    expect(run).toMatch(/rm -rf \/usr\/local\/lib\/node_modules .*\/usr\/local\/bin\/npm \/usr\/local\/bin\/npx/);
    expect(readFileSync(`${ROOT}scripts/build.ts`, "utf8")).not.toContain("sourcemap");
  });

  test("runs as a user who is not root, by number, and the folder for clones is theirs", () => {
    expect(lastStage.findLast(({ name }) => name === "USER")?.rest).toBe("1000:1000");
    expect(rests("RUN", lastStage).join("\n")).toContain("mkdir -p /data && chown 1000:1000 /data");
    const afterUser = lastStage.slice(lastStage.findIndex(({ name }) => name === "USER"));
    expect(afterUser.filter(({ name }) => name === "RUN" || name === "COPY")).toEqual([]);
  });

  test("is built from the lock file, and carries the bundle without any packages", () => {
    expect(rests("RUN").filter((rest) => rest.includes("npm "))).toEqual([
      "npm ci --no-audit --no-fund",
      "npm run build",
      expect.stringContaining("rm -rf /usr/local/lib/node_modules"),
    ]);
    expect(rests("COPY", lastStage).filter((rest) => rest.startsWith("--from"))).toEqual([
      "--from=build /app/dist ./dist",
    ]);
  });

  test("copies only what is there", () => {
    const copied = rests("COPY")
      .filter((rest) => !rest.startsWith("--from"))
      .flatMap((rest) => rest.split(" ").slice(0, -1));
    expect(copied.length).toBeGreaterThan(5);
    expect(copied.filter((path) => !existsSync(`${ROOT}${path}`))).toEqual([]);
  });

  test("copies every script that the build imports", () => {
    const copied = rests("COPY").flatMap((rest) => rest.split(" ").filter((path) => path.startsWith("scripts/")));
    const imported = copied.flatMap((path) =>
      [...readFileSync(`${ROOT}${path}`, "utf8").matchAll(/from "\.\/([^"]+)\.js"/g)].map(
        ([, name = ""]) => `scripts/${name}.ts`,
      ),
    );
    expect(copied).toContain("scripts/build.ts");
    expect(imported.length).toBeGreaterThan(1);
    expect(imported.filter((path) => !copied.includes(path))).toEqual([]);
  });

  test("carries every file that the service reads beside its own code", () => {
    const read = readdirSync(`${ROOT}src`, { recursive: true, encoding: "utf8" })
      .filter((name) => name.endsWith(".ts"))
      .flatMap((name) => [...readFileSync(`${ROOT}src/${name}`, "utf8").matchAll(/shippedFile\("([^"/]+)/g)])
      .map(([, name = ""]) => name);
    const copied = rests("COPY", lastStage).flatMap((rest) => rest.split(" ").slice(0, -1));
    expect(new Set(read).size).toBeGreaterThan(1);
    expect(read.filter((name) => !copied.includes(name))).toEqual([]);
  });

  test("starts the service with the file that the documentation names, below a process that collects git's children", () => {
    expect(rests("ENTRYPOINT")).toEqual(['["tini", "--", "node", "--max-semi-space-size=4", "dist/main.js"]']);
    expect(rests("CMD")).toEqual(['["-c", "/etc/svc/svc.yaml"]']);
    expect(rests("RUN", lastStage).join("\n")).toMatch(/--no-install-recommends git ca-certificates tini /);
  });

  test.each([
    ["${SVC_TEST_PORT}", "0.0.0.0", "127.0.0.1"],
    ["a number", "127.0.0.2", "127.0.0.2"],
  ])("is asked for its health at the configured port, %s, and address, %s", async (port, host, own) => {
    const server = createServer((request, response) => {
      response.statusCode = request.url === "/health" ? 200 : 404;
      response.end();
    }).listen(0, own);
    await once(server, "listening");
    const listening = String((server.address() as AddressInfo).port);
    const folder = mkdtempSync(join(tmpdir(), "svc-image-"));
    const file = join(folder, "svc.yaml");
    const args = healthcheck().map((each) => each.replace("/etc/svc/svc.yaml", file));
    const exitCode = async () => {
      const child = spawn(process.execPath, args, { cwd: ROOT, env: { ...process.env, SVC_TEST_PORT: listening } });
      return (await once(child, "exit"))[0] as number;
    };
    try {
      writeFileSync(file, `server:\n  port: ${port.startsWith("$") ? port : listening}\n  host: ${host}\n`);
      expect(await exitCode()).toBe(0);
      server.close();
      expect(await exitCode()).toBe(1);
    } finally {
      server.close();
      rmSync(folder, { recursive: true });
    }
  });

  test("is asked at the default port where none is configured", () => {
    expect(rests("EXPOSE")).toEqual(["4141"]);
    expect(readFileSync(`${ROOT}src/config/healthcheck.ts`, "utf8")).toContain('DEFAULT_PORT = "4141"');
  });
});
