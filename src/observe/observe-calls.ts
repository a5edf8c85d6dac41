/** Sees one call of a method; must call `run` once and give back what it gives. */
export type CallObserver = (method: string, run: () => unknown) => unknown;

/** The same object; somebody looks on at each call of a method. */
export function observeCalls<T extends object>(port: T, observe: CallObserver): T {
  return new Proxy(port, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name, target);
      if (typeof member !== "function" || typeof name !== "string") return member;
      return (...args: unknown[]): unknown => observe(name, (): unknown => Reflect.apply(member, target, args));
    },
  });
}

export type CallEnd = { readonly kind: "returned" } | { readonly kind: "threw"; readonly error: unknown };

/** Calls a method and tells of its end: when its promise settles, or at once where it gives none. */
export function callAndTell(run: () => unknown, told: (end: CallEnd) => void): unknown {
  let given: unknown;
  try {
    given = run();
  } catch (error) {
    told({ kind: "threw", error });
    throw error;
  }
  if (isPromise(given)) {
    given.then(
      () => told({ kind: "returned" }),
      (error: unknown) => told({ kind: "threw", error }),
    );
  } else told({ kind: "returned" });
  return given;
}

function isPromise(value: unknown): value is Promise<unknown> {
  return typeof value === "object" && value !== null && "then" in value && typeof value.then === "function";
}
