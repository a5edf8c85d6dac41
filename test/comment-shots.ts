import { mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { renderComment } from "../demo/render-comment.js";
import { startBrowser } from "./web/browser/start-browser.js";

const FOLDER = fileURLToPath(new URL("../screenshots", import.meta.url));
/** The committed comments that people see most. */
const COMMENTS = [
  ...["plan-of-24-applications", "plan-dangers", "plan-blocked-by-another", "plan-needing-approval"],
  ...["result-sync", "result-sync-no-auto-merge", "result-sync-failed"],
];
/** As wide as a host shows a comment, and a telephone. */
const WIDTHS = [900, 390];

const style = await readFile(new URL("../demo/page/page.css", import.meta.url), "utf8");
await mkdir(FOLDER, { recursive: true });
const browser = await startBrowser();
try {
  const page = await browser.newPage();
  for (const name of COMMENTS) {
    const comment = await readFile(new URL(`./comments/golden/${name}.md`, import.meta.url), "utf8");
    await page.setContent(
      `<style>${style}</style><article class="comment from-svc"><div class="body">${renderComment(comment)}</div></article>`,
    );
    for (const width of WIDTHS) {
      await page.setViewportSize({ width, height: 700 });
      await page.screenshot({ path: join(FOLDER, `${name}-${width}.png`), fullPage: true });
    }
  }
} finally {
  await browser.close();
}
process.stdout.write(`Screenshots are in ${FOLDER}\n`);
