/** Wraps every method call of a port: the wrapper receives `call`, which makes the call, and its result goes to the caller. */
export type EveryCall = (method: string, call: () => unknown) => unknown;

/** Wraps single methods, and receives their arguments. */
export type MethodCalls<Port> = {
  readonly [Method in keyof Port]?: Port[Method] extends (...args: infer Args) => infer Result
    ? (call: () => Result, ...args: Args) => Result
    : never;
};

type Layer<Port> = EveryCall | MethodCalls<Port>;

/** Wraps an object in layers, the last one outermost, and leaves out the undefined ones. */
export function wrapPort<Full extends Port, Port extends object = Full>(
  port: Full,
  ...layers: readonly (Layer<NoInfer<Port>> | undefined)[]
): Full {
  return layers.reduce<Full>((inner, layer) => (layer === undefined ? inner : withLayer(inner, layer)), port);
}

function withLayer<Full extends Port, Port extends object>(port: Full, layer: Layer<Port>): Full {
  return new Proxy(port, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name, target);
      if (typeof member !== "function" || typeof name !== "string") return member;
      return (...args: unknown[]): unknown => {
        const call = (): unknown => Reflect.apply(member, target, args);
        if (typeof layer === "function") return layer(name, call);
        const around: unknown = Object.hasOwn(layer, name) ? Reflect.get(layer, name) : undefined;
        return typeof around === "function" ? (Reflect.apply(around, layer, [call, ...args]) as unknown) : call();
      };
    },
  });
}

type CallEnd = { readonly kind: "returned" } | { readonly kind: "threw"; readonly error: unknown };

/** Makes a call and reports its end: when its promise settles, or at once if it returns none. */
export function reportEnd(call: () => unknown, report: (end: CallEnd) => void): unknown {
  let returned: unknown;
  try {
    returned = call();
  } catch (error) {
    report({ kind: "threw", error });
    throw error;
  }
  if (isPromise(returned)) {
    returned.then(
      () => report({ kind: "returned" }),
      (error: unknown) => report({ kind: "threw", error }),
    );
  } else report({ kind: "returned" });
  return returned;
}

function isPromise(value: unknown): value is Promise<unknown> {
  return typeof value === "object" && value !== null && "then" in value && typeof value.then === "function";
}
