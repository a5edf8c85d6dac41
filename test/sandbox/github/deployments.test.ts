import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { connected } from "./connected.js";

const [owner, repo] = ["acme", "deploy"];
const name = `${owner}/${repo}`;
let world: Awaited<ReturnType<typeof connected>>;
let octokit: Awaited<ReturnType<typeof world.client>>;
let sha: string;

beforeAll(async () => {
  world = await connected();
  await world.github.createRepository(name, { "a.yaml": "one\n" });
  octokit = await world.client(name);
  const number = await world.github.open({ repository: name, by: "ana", changes: { "a.yaml": "two\n" } });
  sha = world.github.changeRequest(name, number).headRevision;
});
afterAll(() => world.stop());

const create = (more: object) =>
  octokit.rest.repos.createDeployment({ owner, repo, ref: sha, auto_merge: false, required_contexts: [], ...more });
const idOf = async (more: object): Promise<number> => {
  const { data } = await create(more);
  if (!("id" in data)) throw new Error("no deployment was created");
  return data.id;
};
const set = (id: number, more: object) =>
  octokit.rest.repos.createDeploymentStatus({
    owner,
    repo,
    deployment_id: id,
    state: "success",
    log_url: "https://svc.example.com/",
    environment_url: "https://argocd.example.com/",
    ...more,
  });
const statesOf = (environment: string) =>
  world.github.deployments
    .seen(name)
    .filter((one) => one.environment === environment)
    .map(({ states }) => states.join(" "));
const statusOf = (call: Promise<{ status: number }>): Promise<number> =>
  call.then(
    ({ status }) => status,
    (error: unknown) => (error as { status: number }).status,
  );

test("a success ends earlier ones of its environment, unless it is told not to", async () => {
  const [first, second, third] = [
    await idOf({ environment: "qa" }),
    await idOf({ environment: "qa" }),
    await idOf({ environment: "qa" }),
  ];
  await set(first, {});
  await set(second, { auto_inactive: false });
  expect(statesOf("qa")).toEqual(["success", "success", ""]);
  await set(third, {});
  expect(statesOf("qa")).toEqual(["success inactive", "success inactive", "success"]);
  expect(world.github.violations).toEqual([]);
});

test("the newest come first, and an environment's name has no case", async () => {
  const ids = [await idOf({ environment: "Staging" }), await idOf({ environment: "staging", payload: { run: "1" } })];
  const { data } = await octokit.rest.repos.listDeployments({ owner, repo, environment: "STAGING", sha });
  expect(data.map(({ id }) => id)).toEqual(ids.reverse());
  expect(data[0]?.payload).toEqual({ run: "1" });
});

test("statuses of the commit are checked, and the default branch is merged, unless both are switched off", async () => {
  await octokit.rest.repos.createCommitStatus({ owner, repo, sha, state: "pending", context: "ci" });
  expect(await statusOf(create({ required_contexts: undefined }))).toBe(409);
  await world.github.pushToBranch(name, "main", { "b.yaml": "new\n" });
  expect(await statusOf(create({ auto_merge: undefined }))).toBe(202);
  expect(await statusOf(create({}))).toBe(201);
});

test.each([
  ["a ref that is not there", { ref: "1".repeat(40) }],
  ["too long an environment", { environment: "x".repeat(256) }],
])("%s is refused", async (_, more) => {
  expect(await statusOf(create(more))).toBe(422);
});
