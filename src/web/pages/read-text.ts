const MOST = 300;

/** One text of a page's query; empty where it is missing, there twice or longer than 300 characters. */
export function readText(query: unknown, name: string): string {
  if (typeof query !== "object" || query === null) return "";
  const value: unknown = Object.getOwnPropertyDescriptor(query, name)?.value;
  return typeof value === "string" && value.length <= MOST ? value : "";
}
