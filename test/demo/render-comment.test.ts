import { describe, expect, test } from "@jest/globals";
import { diffHtml, renderComment } from "../../demo/render-comment.js";

describe("a comment on the demo's page", () => {
  test.each([
    ["a script", "<script>alert(1)</script>hello", "alert"],
    ["a handler", '<img src="x" onerror="alert(1)">', "<img"],
    [
      "a handler on a tag that is allowed",
      '<details open ontoggle="alert(1)"><summary>s</summary></details>',
      "ontoggle",
    ],
    ["a link that runs", "[click](javascript:alert(1))", 'href="javascript'],
    ["a link that runs, as HTML", '<a href="JaVaScRiPt:alert(1)">click</a>', "href"],
    ["a link to this host without a scheme", '<a href="//evil.example">click</a>', "href"],
    ["a frame", '<iframe src="https://evil.example"></iframe>', "iframe"],
    ["a style", '<p style="position:fixed">over everything</p>', "style"],
    ["a stylesheet", "<style>body{display:none}</style>", "display"],
    ["a form", '<form action="https://evil.example"><input name="x"></form>', "form"],
    ["a picture in SVG", '<svg onload="alert(1)"><a xlink:href="javascript:alert(1)">x</a></svg>', "svg"],
    ["a class of the page's own", '<span class="banner">x</span>', "banner"],
    ["an id of the page's own", '<p id="composer">x</p>', "composer"],
    ["an image", "![x](https://evil.example/pixel.png)", "evil"],
    ["a fence that says it is HTML", "```html\n<script>alert(1)</script>\n```", "<script"],
    ["a diff with markup in it", "```diff\n+<img src=x onerror=alert(1)>\n```", "<img"],
    ["a fence language that breaks out", '```"><img/src=x>\nx\n```', "<img"],
    ["a marker", "<!-- svc:plan head=c0ffee -->\ntext", "svc:plan"],
  ])("shows %s harmlessly", (_name, body, gone) => {
    expect(renderComment(body)).not.toContain(gone);
  });

  test("keeps what svc writes: headings, collapsibles, tables, code and coloured diffs", () => {
    const html = renderComment(
      "## svc Plan\n\n<details><summary>Diff (1 resource changed)</summary>\n\n```diff\n# update: ConfigMap shop/web\n@@ -1 +1 @@\n-a: 1\n+a: 2\n same\n```\n\n</details>\n\n| a | b |\n|---|---|\n| `c` | **d** |\n",
    );
    expect(html).toContain("<h2>svc Plan</h2>");
    expect(html).toContain("<details><summary>Diff (1 resource changed)</summary>");
    expect(html).toContain('<span class="diff-note"># update: ConfigMap shop/web\n</span>');
    expect(html).toContain('<span class="diff-place">@@ -1 +1 @@\n</span>');
    expect(html).toContain('<span class="diff-delete">-a: 1\n</span>');
    expect(html).toContain('<span class="diff-add">+a: 2\n</span>');
    expect(html).toContain(" same");
    expect(html).toContain("<td><code>c</code></td>");
    expect(html).toContain("</details>");
  });

  test("keeps web links, and gives the other site nothing", () => {
    expect(renderComment("[docs](https://example.com/a)")).toContain(
      '<a href="https://example.com/a" rel="noopener noreferrer nofollow">docs</a>',
    );
  });
});

test("a file's diff is escaped line by line", () => {
  expect(diffHtml("-<b>\n+<i>\n & same\n")).toBe(
    '<span class="diff-delete">-&lt;b&gt;\n</span><span class="diff-add">+&lt;i&gt;\n</span> &amp; same\n',
  );
});
