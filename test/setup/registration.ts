import { ManualClock } from "../manual-clock.js";
import { Visitor, type Visited } from "../web/visitor.js";
import type { Operator } from "./operator.js";

/** `svc setup github` while its pages are served, and a browser in front of them. */
export interface Registration {
  readonly url: string;
  readonly code: string;
  readonly browser: Visitor;
  readonly ended: ReturnType<Operator["run"]>;
  /** Types the code. */
  enter(code: string): Promise<Visited>;
  /** Types the right code, goes to GitHub, and creates the App there. @returns The address that GitHub sends the browser to. */
  createApp(): Promise<string>;
  /** Lets an hour pass. */
  expire(): ReturnType<Operator["run"]>;
}

/** Starts setup and waits until it invites. */
export async function startRegistration(operator: Operator, argv: readonly string[]): Promise<Registration> {
  const clock = new ManualClock();
  const { shown, ended } = operator.start(["github", ...argv], { clock });
  const found = () => /(http:\/\/127\.0\.0\.1:\d+)\/[^]*^ {4}(\S{4}-\S{4})$/m.exec(shown.join("\n"));
  const early = ended.then(({ output }) => {
    if (found() === null) throw new Error(output);
  });
  while (found() === null) await Promise.race([early, new Promise((resolve) => setImmediate(resolve))]);
  const [, url = "", code = ""] = found() ?? [];
  const browser = new Visitor(url);
  const enter = (typed: string) => browser.open("/", { form: { code: typed } });
  return {
    url,
    code,
    browser,
    ended,
    enter,
    expire: () => {
      clock.advance(60 * 60_000);
      return ended;
    },
    createApp: () => createApp(browser, code),
  };
}

/** Types the code, goes to GitHub, and creates the App there. @returns The address that GitHub sends the browser to. */
export async function createApp(browser: Visitor, code: string): Promise<string> {
  const asked = await browser.open("/", { form: { code } });
  const github = formIn(asked.text);
  const page = formIn((await browser.open(github.action, { form: github.fields })).text);
  const sent = await browser.ask(new URL(page.action, github.action).href, { form: page.fields });
  return sent.headers.get("location") ?? "";
}

/** The first form of a page. */
export function formIn(html: string): { readonly action: string; readonly fields: Readonly<Record<string, string>> } {
  const action = /<form method="post" action="([^"]*)"/.exec(html)?.[1];
  if (action === undefined) throw new Error(`no form: ${html}`);
  const fields = [...html.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)"/g)].map(
    ([, name = "", value = ""]) => [name, unescaped(value)] as const,
  );
  return { action: unescaped(action), fields: Object.fromEntries(fields) };
}

function unescaped(text: string): string {
  const named: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"' };
  return text.replace(/&(?:#(\d+)|(\w+));/g, (found, digits: string | undefined, name: string | undefined) =>
    digits === undefined ? (named[name ?? ""] ?? found) : String.fromCharCode(Number(digits)),
  );
}
