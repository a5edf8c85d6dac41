import type { CloneSource } from "../core/ports/code-host.js";

/** Why git must not be given this source; undefined when it may. The adapters make sources, so this is a second lock. */
export function sourceProblem(source: CloneSource): string | undefined {
  if (!/^[\x21-\x7e]+$/.test(source.url) || !URL.canParse(source.url)) return "its address is no URL";
  const url = new URL(source.url);
  if (url.protocol !== "https:" && url.protocol !== "http:") return "its address is neither https nor http";
  if (url.username !== "" || url.password !== "") return "its address holds credentials";
  if (url.search !== "" || url.hash !== "") return "its address holds a query or a fragment";
  if (source.authorization !== undefined && !/^[\x20-\x7e]+$/.test(source.authorization)) {
    return "the credentials hold characters that no header may have";
  }
  if (!/^refs\/(?:[A-Za-z0-9_][A-Za-z0-9_.-]*\/)*[A-Za-z0-9_][A-Za-z0-9_.-]*$/.test(source.headRef)) {
    return "the name of its head ref is not allowed";
  }
  return source.headRef.includes("..") ? "the name of its head ref is not allowed" : undefined;
}
