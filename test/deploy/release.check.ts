import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "@jest/globals";
import { parse } from "yaml";
import { packageChart } from "../../scripts/release-chart.js";
import { SINGLE } from "./chart-values.js";
import { runTool } from "./deploy-tool.js";

const folder = mkdtempSync(join(tmpdir(), "svc-release-"));
afterAll(() => rmSync(folder, { recursive: true }));

test("a released chart names its image by digest and where it comes from, and needs no image in the values", () => {
  const digest = `sha256:${"0123456789abcdef".repeat(4)}`;
  const source = "https://github.com/acme/svc";
  packageChart({ tag: "v1.2.3", source, pages: "/", image: { repository: "ghcr.io/acme/svc", digest } }, folder);
  const [archive = ""] = readdirSync(folder);
  const show = (what: string) => runTool("helm", ["show", what, join(folder, archive)]).stdout;
  expect(parse(show("chart"))).toMatchObject({
    sources: [source],
    icon: `${source}/raw/v1.2.3/views/assets/icon.svg`,
    kubeVersion: expect.stringContaining(">="),
  });
  expect(show("readme")).toContain(`](${source}/blob/v1.2.3/docs/installation.md)`);
  expect(show("readme")).not.toContain("](../");
  const { image, ...values } = SINGLE;
  expect(image).toBeDefined();
  const rendered = runTool("helm", ["template", "svc", join(folder, archive), "--values", "-"], JSON.stringify(values));
  expect(rendered).toMatchObject({ ok: true });
  expect(rendered.stdout).toContain(`image: ghcr.io/acme/svc@${digest}`);
  const everything = JSON.stringify({
    ...values,
    config: { ...(values.config as object), server: { metrics_port: 9090 } },
    prometheusRule: { enabled: true },
  });
  expect(runTool("helm", ["template", "svc", join(folder, archive), "--values", "-"], everything).stdout).toContain(
    "alert:",
  );
});

test("hadolint has nothing to say about the image file", () => {
  expect(runTool("hadolint", [new URL("../../Dockerfile", import.meta.url).pathname])).toMatchObject({
    ok: true,
    stdout: "",
  });
});

test("a release of another tag than the version in package.json is refused before anything is made", () => {
  const { status, stderr } = spawnSync("npm", ["run", "--silent", "release", "--", "--tag", "v0.0.0"], {
    encoding: "utf8",
  });
  expect(status).toBe(1);
  expect(stderr).toContain("the tag v0.0.0 is not that of package.json");
});
