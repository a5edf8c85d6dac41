import { setImmediate } from "node:timers/promises";

/** Milliseconds for which a computation may keep the event loop. */
const TURN_MS = 5;
const PER_TURN = 50;

/** Gives the event loop a turn between computations that each take long for ten thousand applications. */
export async function nextTurn(): Promise<void> {
  await setImmediate();
}

/** Works on one item after the other. The event loop gets a turn after every few milliseconds: ten thousand would keep it from everybody else. */
export async function mapInTurns<T, R>(items: readonly T[], work: (item: T) => R | Promise<R>): Promise<R[]> {
  const done: R[] = [];
  let since = performance.now();
  for (const item of items) {
    done.push(await work(item));
    if (performance.now() - since < TURN_MS) continue;
    await nextTurn();
    since = performance.now();
  }
  return done;
}

/** Finishes a computation. Lets the event loop run before it and between its steps, after every few milliseconds. */
export async function finishInTurns<T>(steps: Generator<void, T>): Promise<T> {
  for (;;) {
    await nextTurn();
    const since = performance.now();
    do {
      const step = steps.next();
      if (step.done === true) return step.value;
    } while (performance.now() - since < TURN_MS);
  }
}

/** More than any limit on renders or calls lets through at once; the others would wait in memory. */
const AT_ONCE = 100;

/** Like `Promise.all` over `items.map(work)`, but lets the event loop run now and then, and starts all, `atOnce` at a time, even if one fails. */
export async function allInTurns<T, R>(
  items: readonly T[],
  work: (item: T) => Promise<R>,
  atOnce = AT_ONCE,
): Promise<readonly R[]> {
  const started: Promise<R>[] = [];
  let running = 0;
  let goOn: () => void = () => undefined;
  // Also keeps a failure, which is reported below, from ending the process as an unhandled rejection until then.
  const end = () => {
    running -= 1;
    goOn();
  };
  for (const item of items) {
    if (running === atOnce) {
      await new Promise<void>((resolve) => {
        goOn = resolve;
      });
    }
    running += 1;
    const result = work(item);
    result.then(end, end);
    started.push(result);
    if (started.length % PER_TURN === 0) await setImmediate();
  }
  return Promise.all(started);
}

/** Groups items by a key, in their order; without those whose key is undefined. */
export function groupedBy<T, K>(
  items: readonly T[],
  keyOf: (item: T) => K | undefined,
): ReadonlyMap<K, readonly [T, ...T[]]> {
  const groups = new Map<K, [T, ...T[]]>();
  for (const item of items) {
    const key = keyOf(item);
    if (key === undefined) continue;
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [item]);
    else group.push(item);
  }
  return groups;
}

/** The items without repetitions. Two are the same if their JSON is. */
export function distinct<T>(items: readonly T[]): readonly T[] {
  return [...new Map(items.map((item) => [JSON.stringify(item), item])).values()];
}

/** The paths that differ between two commits, indexed once for the thousands of applications they are compared with. */
export class ChangedPaths {
  readonly #paths: ReadonlySet<string>;
  readonly #sorted: readonly string[];

  constructor(readonly paths: readonly string[]) {
    this.#paths = new Set(paths);
    this.#sorted = [...this.#paths].sort();
  }

  /** Whether a changed path is at, above or below this one: a changed link or submodule changes everything below it. */
  touch(path: string): boolean {
    const [start, end] = this.#below(path);
    return start < end || selfAndParents(path).some((one) => this.#paths.has(one));
  }

  /** Those at, above and below this one. */
  touching(path: string): readonly string[] {
    const above = selfAndParents(path).filter((one) => this.#paths.has(one));
    return [...above, ...this.#sorted.slice(...this.#below(path))];
  }

  /** Where the paths below a directory begin and end in a sorted list: a slash sorts right before a zero. */
  #below(directory: string): readonly [number, number] {
    if (directory === "") return [0, this.#sorted.length];
    return [this.#firstFrom(`${directory}/`), this.#firstFrom(`${directory}0`)];
  }

  #firstFrom(path: string): number {
    let [low, high] = [0, this.#sorted.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#sorted[middle] ?? "") < path) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

function selfAndParents(path: string): readonly string[] {
  const all: string[] = [];
  for (let one = path; one !== ""; one = one.slice(0, Math.max(0, one.lastIndexOf("/")))) all.push(one);
  return all;
}
