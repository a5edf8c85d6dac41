import { afterEach, beforeEach, expect, test } from "@jest/globals";
import express from "express";
import { startArgoCd, type ArgoCd } from "../../../sandbox/argocd/argocd.js";
import { GitStore } from "../../../sandbox/git/git-store.js";
import { smartHttp } from "../../../sandbox/git/smart-http.js";
import { listenOnLoopback, type LoopbackServer } from "../../../sandbox/loopback.js";

let store: GitStore;
let server: LoopbackServer;
let argocd: ArgoCd;
let token: string;
beforeEach(async () => {
  store = await GitStore.create();
  await store.createRepository("deploy", { "app/cm.yaml": configMap("one") });
  const serve = smartHttp(
    store,
    () => true,
    () => "deploy",
  );
  server = await listenOnLoopback(express().use(serve));
  argocd = await startArgoCd({ repositories: "network" });
  token = argocd.addAccount("svc", { permissions: "all" });
  addApplication(`${server.url}/deploy.git`);
});
afterEach(async () => {
  await argocd.stop();
  await server.stop();
  await store.remove();
});

function configMap(value: string): string {
  return `{apiVersion: v1, kind: ConfigMap, metadata: {name: one}, data: {value: ${value}}}`;
}

function addApplication(repoURL: string): void {
  const destination = { server: "https://kubernetes.default.svc", namespace: "x" };
  const source = { repoURL, path: "app", targetRevision: "main" };
  argocd.addApplication({ metadata: { name: "app" }, spec: { destination, source } });
}

async function tip(): Promise<string | undefined> {
  return store.resolve("deploy", "refs/heads/main");
}

async function render(revision: string): Promise<string> {
  const url = `${argocd.url}/api/v1/applications/app/manifests?revision=${revision}`;
  return (await fetch(url, { headers: { authorization: `Bearer ${token}` } })).text();
}

test("fetches the newest commit of a branch, and any commit by its id", async () => {
  expect(await render("main")).toContain("one");
  const aside = await store.commit("deploy", "aside", { "app/cm.yaml": configMap("aside") }, { from: await tip() });
  await store.setRef("deploy", "refs/pull/1/head", aside);
  await store.setRef("deploy", "refs/heads/aside", undefined);
  expect(await render(aside)).toContain("aside");
  await store.commit("deploy", "main", { "app/cm.yaml": configMap("two") });
  expect(await render("main")).toContain("two");
});

test("an address without a repository is told in the repo-server's words", async () => {
  argocd.removeApplication("app");
  addApplication("http://127.0.0.1:9/deploy.git");
  expect(await render("main")).toMatch(/"code":2,"message":"failed to list refs: fatal: unable to access /);
});
