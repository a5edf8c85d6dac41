import { randomBytes } from "node:crypto";

const USERNAME = "visitor";
const PASSWORD = randomBytes(16).toString("hex");

/** The section `auth` of svc's configuration. The visitor is an admin, whom the demo logs in. */
export function visitorAuth() {
  return {
    enabled: true,
    session_secret: randomBytes(32).toString("hex"),
    cookie_secure: false,
    diffs: "all",
    basic: { users: [{ username: USERNAME, password: PASSWORD, role: "admin" }] },
  };
}

/** Logs the visitor in to svc's own pages. The browser sends the cookie there too: cookies know no ports. */
export class VisitorSession {
  readonly #url: string;
  #cookie: string | undefined;

  constructor(url: string) {
    this.#url = url;
  }

  /** A `Set-Cookie` header of a live session; undefined if svc gives none. */
  async cookie(): Promise<string | undefined> {
    if (this.#cookie === undefined || !(await this.#lives(this.#cookie))) this.#cookie = await this.#logIn();
    return this.#cookie;
  }

  /** The visitor may have signed out. */
  async #lives(cookie: string): Promise<boolean> {
    const [pair = ""] = cookie.split(";");
    return (await fetch(`${this.#url}/auth/me`, { headers: { cookie: pair } })).ok;
  }

  async #logIn(): Promise<string | undefined> {
    const response = await fetch(`${this.#url}/auth/basic/login`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ username: USERNAME, password: PASSWORD }),
    });
    return response.headers.getSetCookie()[0];
  }
}
