import { readFileSync } from "node:fs";
import { expect, test } from "@jest/globals";
import { parse } from "yaml";
import { HOSTS } from "../../src/hosts/registry.js";
import { OLDEST_DEPLOYER } from "../../src/service/start-checks.js";
import { KUBERNETES } from "../deploy/kubernetes-schemas.js";

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");

/** Oldest and newest of the guide's table, by the first column. */
const versions = new Map(
  [...read("docs/installation.md").matchAll(/^\| ([^|]+) \| (\d+\.\d+) \| (\d+\.\d+) \|/gm)].map(
    ([, what = "", oldest = "", newest = ""]) => [what, { oldest, newest }],
  ),
);

test("the guide and the README name the versions that svc checks and is tested with", () => {
  const { kubeVersion } = parse(read("deploy/chart/Chart.yaml")) as { readonly kubeVersion: string };
  const argocd = /^argocd=v(\d+\.\d+)/m.exec(read("deploy/kind/argocd.sh"))?.[1];
  expect(Object.fromEntries(versions)).toMatchObject({
    "Argo CD": { oldest: OLDEST_DEPLOYER, newest: argocd },
    "Kubernetes, for svc itself": { oldest: /\d+\.\d+/.exec(kubeVersion)?.[0], newest: KUBERNETES.at(-1) },
    "GitHub Enterprise Server": { oldest: HOSTS.hosta.oldest },
    GitLab: { oldest: HOSTS.hostb.oldest },
    Redis: { oldest: "6.2" },
  });
  const named = /It works with (.*), and newer/.exec(read("README.md"))?.[1] ?? "";
  for (const { oldest } of versions.values()) expect(named).toContain(` ${oldest}`);
});
