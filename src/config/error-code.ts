/** The code that Node.js gives its own errors (`ENOENT`, `ERR_PARSE_ARGS_UNKNOWN_OPTION`), if this is one. */
export function errorCode(error: unknown): string | undefined {
  if (typeof error !== "object" || error === null || !("code" in error)) return undefined;
  return typeof error.code === "string" ? error.code : undefined;
}
