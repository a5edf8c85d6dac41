import { expect, test } from "@jest/globals";
import type { SeenDeployment } from "../../sandbox/forge.js";
import { applicationName } from "../../src/core/model/brand.js";
import type { ChangeRequest } from "../../src/core/model/change-request.js";
import type { ShownDeployment } from "../../src/core/ports/code-host.js";
import type { CodeHostUnderTest } from "./code-host-under-test.js";

let opened = 0;

/** What the environments of the host show of a deployment. */
export function deploymentsContract(under: () => CodeHostUnderTest): void {
  const open = () => under().open({ [`deployed-${(opened += 1)}.txt`]: "1" });
  const words = () =>
    under().title === "GitHub"
      ? { running: "in_progress", succeeded: "success", failed: "failure" }
      : { running: "running", succeeded: "success", failed: "failed" };
  const seen = (name: string): readonly SeenDeployment[] =>
    under()
      .forge.deployments.seen(under().repository)
      .filter(({ environment }) => environment === `in-cluster/shop/${name}`);
  const shownOf = (change: ChangeRequest, name: string, more: Partial<ShownDeployment> = {}): ShownDeployment => ({
    command: "sync",
    application: applicationName(name),
    destination: { cluster: "https://kubernetes.default.svc", namespace: "shop" },
    revision: change.headRevision,
    runId: `run of ${name}`,
    links: {
      application: `https://argocd.example.com/applications/${name}`,
      result: "https://svc.example.com/changes/1",
    },
    ...more,
  });

  test("one is shown in its environment while it runs and as it ended, with its links, and is found again", async () => {
    const { host, title } = under();
    const change = await open();
    const web = shownOf(change, "web-1");
    expect(await host.shownDeployment(change, web)).toBeUndefined();
    const id = await host.showDeployment(change, web, "running", undefined);
    expect(id).toBeDefined();
    expect(await host.shownDeployment(change, web)).toEqual({ id, state: "running" });
    expect(await host.showDeployment(change, web, "succeeded", id)).toBe(id);
    expect(await host.shownDeployment(change, web)).toEqual({ id, state: "succeeded" });
    expect(seen("web-1")).toEqual([
      {
        environment: "in-cluster/shop/web-1",
        revision: change.headRevision,
        ref: title === "GitHub" ? change.headRevision : "main",
        states: [words().running, words().succeeded],
        link: "https://argocd.example.com/applications/web-1",
        output: title === "GitHub" ? "https://svc.example.com/changes/1" : undefined,
      },
    ]);
  });

  test("one that has ended before it was shown, and one that ended otherwise than it seemed", async () => {
    const { host } = under();
    const change = await open();
    const web = shownOf(change, "web-2");
    const id = await host.showDeployment(change, web, "failed", undefined);
    expect(await host.shownDeployment(change, web)).toEqual({ id, state: "failed" });
    await host.showDeployment(change, web, "succeeded", id);
    expect(seen("web-2")).toMatchObject([{ states: [words().failed, words().succeeded] }]);
  });

  test("a state that was set before its answer got lost can be set again", async () => {
    const { host } = under();
    const change = await open();
    const web = shownOf(change, "web-3");
    const id = await host.showDeployment(change, web, "succeeded", undefined);
    expect(await host.showDeployment(change, web, "succeeded", id)).toBe(id);
    expect(seen("web-3").map(({ states }) => states.at(-1))).toEqual([words().succeeded]);
  });

  test("a rollback takes the place of the head: it is the last deployment, or none is active any more", async () => {
    const { host, title } = under();
    const change = await open();
    const web = shownOf(change, "web-4");
    await host.showDeployment(change, web, "succeeded", undefined);
    const back = shownOf(change, "web-4", { command: "rollback", revision: change.baseRevision, runId: "run back" });
    const id = await host.showDeployment(change, back, "running", undefined);
    expect(seen("web-4")[0]?.states).toEqual([words().succeeded]);
    await host.showDeployment(change, back, "succeeded", id);
    await host.showDeployment(change, back, "succeeded", id);
    expect(seen("web-4").map(({ revision, states }) => [revision, states])).toEqual(
      title === "GitHub"
        ? [[change.headRevision, ["success", "inactive"]]]
        : [
            [change.headRevision, ["success"]],
            [change.baseRevision, ["running", "success"]],
          ],
    );
  });

  test("a success ends what was deployed there before; a failure does not", async () => {
    const { host, forge, repository, title } = under();
    const change = await open();
    await host.showDeployment(change, shownOf(change, "web-5"), "succeeded", undefined);
    await forge.push(repository, change.number, { "pushed.txt": "1" });
    const newer = await under().read(change.number);
    const again = shownOf(newer, "web-5", { runId: "second" });
    const id = await host.showDeployment(newer, again, "failed", undefined);
    expect(seen("web-5").map(({ states }) => states.at(-1))).toEqual([words().succeeded, words().failed]);
    await host.showDeployment(newer, again, "succeeded", id);
    const before = title === "GitHub" ? "inactive" : "success";
    expect(seen("web-5").map(({ states }) => states.at(-1))).toEqual([before, words().succeeded]);
    expect(await host.shownDeployment(newer, again)).toMatchObject({ id, state: "succeeded" });
  });

  test("without the right to it is a failure that says what is missing", async () => {
    const { host, forge, permissionCure } = under();
    const change = await open();
    const body = JSON.stringify({ message: "Resource not accessible by integration" });
    const headers = { "content-type": "application/json" };
    const fault = { kind: "status", status: 403, body, headers } as const;
    forge.faults.add({ method: "POST", path: /\/deployments$/, times: 1, fault });
    await expect(host.showDeployment(change, shownOf(change, "web-6"), "running", undefined)).rejects.toMatchObject({
      reason: "forbidden",
      message: expect.stringMatching(permissionCure),
    });
  });

  test("nothing is missing while everything is granted", async () => {
    expect(await under().host.missingPermissions()).toEqual([]);
  });
}
