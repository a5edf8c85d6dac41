import type { Answer } from "./call.js";

export interface PageRequest {
  readonly page?: number | undefined;
  readonly per_page?: number | undefined;
}

/**
 * One page of a list with GitLab's headers: 20 items by default, at most 100
 * (https://docs.gitlab.com/api/rest/#offset-based-pagination).
 */
export function page(url: string, items: readonly unknown[], request: PageRequest): Answer {
  const size = Math.min(request.per_page ?? 20, 100);
  const number = request.page ?? 1;
  const pages = Math.max(1, Math.ceil(items.length / size));
  const link = (target: number, rel: string): string => `<${at(url, target, size)}>; rel="${rel}"`;
  const links = [
    ...(number > 1 ? [link(number - 1, "prev")] : []),
    ...(number < pages ? [link(number + 1, "next")] : []),
    link(1, "first"),
    link(pages, "last"),
  ];
  const headers = {
    link: links.join(", "),
    "x-next-page": number < pages ? String(number + 1) : "",
    "x-page": String(number),
    "x-per-page": String(size),
    "x-prev-page": number > 1 ? String(number - 1) : "",
    "x-total": String(items.length),
    "x-total-pages": String(pages),
  };
  return { headers, body: items.slice((number - 1) * size, number * size) };
}

function at(url: string, page: number, size: number): string {
  const target = new URL(url);
  target.searchParams.set("page", String(page));
  target.searchParams.set("per_page", String(size));
  return target.href;
}
