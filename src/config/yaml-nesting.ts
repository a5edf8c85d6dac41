import type { CST } from "yaml";

/**
 * Whether the collections of a document are nested deeper than `limit`. Looked at before the document is composed: that
 * recurses, and a process whose stack is all but used up can be aborted by its regular expression compiler (seen with
 * yaml 2.9 on Node 20), which no `catch` prevents.
 */
export function isNestedDeeper(document: CST.Token, limit: number): boolean {
  const waiting: { readonly token: CST.Token; readonly depth: number }[] = [{ token: document, depth: 0 }];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { token, depth } = next;
    if (depth > limit) return true;
    for (const child of childrenOf(token)) waiting.push({ token: child, depth: depth + 1 });
  }
  return false;
}

function childrenOf(token: CST.Token): readonly CST.Token[] {
  if (token.type === "document") return token.value === undefined ? [] : [token.value];
  if (token.type !== "block-map" && token.type !== "block-seq" && token.type !== "flow-collection") return [];
  return token.items.flatMap(({ key, value }) => [key, value].filter((child) => child !== undefined && child !== null));
}
