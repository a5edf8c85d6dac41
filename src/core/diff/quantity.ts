import type { Json } from "../model/json.js";

/** Factors in nano units, so that `n` is 1. */
const SUFFIXES: ReadonlyMap<string, bigint> = new Map([
  ["n", 1n],
  ["u", 10n ** 3n],
  ["m", 10n ** 6n],
  ["", 10n ** 9n],
  ["k", 10n ** 12n],
  ["M", 10n ** 15n],
  ["G", 10n ** 18n],
  ["T", 10n ** 21n],
  ["P", 10n ** 24n],
  ["E", 10n ** 27n],
  ["Ki", 10n ** 9n * 2n ** 10n],
  ["Mi", 10n ** 9n * 2n ** 20n],
  ["Gi", 10n ** 9n * 2n ** 30n],
  ["Ti", 10n ** 9n * 2n ** 40n],
  ["Pi", 10n ** 9n * 2n ** 50n],
  ["Ei", 10n ** 9n * 2n ** 60n],
]);

const FORM = /^([+-]?)(\d{0,30})(?:\.(\d{0,30}))?(?:([numkMGTPE]|[KMGTPE]i)|[eE]([+-]?\d{1,2}))?$/;

/**
 * Compares two Kubernetes quantities (`1` and `1000m`, `1Gi` and `1024Mi`): negative, zero or positive. Undefined if one is
 * not a quantity. https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/
 */
export function compareQuantities(left: Json | undefined, right: Json | undefined): number | undefined {
  const [one, other] = [read(left), read(right)];
  if (one === undefined || other === undefined) return undefined;
  const difference = one.value * other.divisor - other.value * one.divisor;
  return difference === 0n ? 0 : difference < 0n ? -1 : 1;
}

function read(value: Json | undefined): { readonly value: bigint; readonly divisor: bigint } | undefined {
  const found = typeof value === "string" || typeof value === "number" ? FORM.exec(String(value)) : null;
  const [, sign, whole = "", part = "", suffix = "", exponent = "0"] = found ?? [];
  const factor = SUFFIXES.get(suffix);
  if (found === null || factor === undefined || whole + part === "") return undefined;
  const power = Number(exponent);
  const digits = BigInt(whole + part) * factor * 10n ** BigInt(Math.max(power, 0));
  return { value: sign === "-" ? -digits : digits, divisor: 10n ** BigInt(part.length + Math.max(-power, 0)) };
}
