import { getEventListeners } from "node:events";
import { setImmediate } from "node:timers/promises";
import { expect, test } from "@jest/globals";
import { createSemaphore } from "../../../src/deployer/argocd/application-api.js";

/** A task that the test ends. */
function task(name: string, begun: string[]) {
  let end: () => void = () => undefined;
  const ended = new Promise<void>((resolve) => (end = resolve));
  const run = async () => {
    begun.push(name);
    await ended;
    return name;
  };
  return { run, end: () => end() };
}

test("two run, the others begin in the order of their coming", async () => {
  const begun: string[] = [];
  const semaphore = createSemaphore(2);
  const tasks = ["a", "b", "c", "d"].map((name) => task(name, begun));
  const results = tasks.map(({ run }) => semaphore.run(run));
  await setImmediate();
  expect(begun).toEqual(["a", "b"]);
  tasks[1]?.end();
  await results[1];
  await setImmediate();
  expect(begun).toEqual(["a", "b", "c"]);
  for (const { end } of tasks) end();
  expect(await Promise.all(results)).toEqual(["a", "b", "c", "d"]);
});

test("a failed task gives its place on", async () => {
  const semaphore = createSemaphore(1);
  await expect(semaphore.run(() => Promise.reject(new Error("boom")))).rejects.toThrow("boom");
  expect(await semaphore.run(() => Promise.resolve("next"))).toBe("next");
});

test("who gives up while waiting is taken out of the row", async () => {
  const begun: string[] = [];
  const semaphore = createSemaphore(1);
  const first = task("first", begun);
  const running = semaphore.run(first.run);
  const stop = new AbortController();
  const waiting = semaphore.run(task("never", begun).run, stop.signal);
  const last = task("last", begun);
  const after = semaphore.run(last.run, new AbortController().signal);
  stop.abort(new Error("stop"));
  await expect(waiting).rejects.toThrow("stop");
  await expect(semaphore.run(last.run, stop.signal)).rejects.toThrow("stop");
  first.end();
  last.end();
  await Promise.all([running, after]);
  expect(begun).toEqual(["first", "last"]);
});

test("however many tasks wait, their signal has one listener, and an abort ends the waiting of all", async () => {
  const semaphore = createSemaphore(1);
  const stop = new AbortController();
  const first = task("first", []);
  const running = semaphore.run(first.run);
  const waiting = Array.from({ length: 1000 }, () => semaphore.run(() => Promise.resolve(), stop.signal));
  await setImmediate();
  expect(getEventListeners(stop.signal, "abort")).toHaveLength(1);
  const after = semaphore.run(() => Promise.resolve("after"));
  stop.abort(new Error("pushed"));
  const ends = await Promise.allSettled(waiting);
  expect(new Set(ends.map((end) => (end.status === "rejected" ? String(end.reason) : "done")))).toEqual(
    new Set(["Error: pushed"]),
  );
  first.end();
  expect(await running).toBe("first");
  expect(await after).toBe("after");
});
