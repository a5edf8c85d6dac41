import { createHash } from "node:crypto";
import { loginOf } from "../../git/write-commit.js";

export interface Person {
  readonly id: number;
  readonly username: string;
  readonly name: string;
  /** True for the accounts of project and group access tokens, and for service accounts, whatever their name. */
  bot: boolean;
  state: "active" | "blocked";
  /** `awaiting`: an owner has yet to approve what memberships it has, as where a group has a user cap. */
  membership: "active" | "awaiting";
}

/** User names of access token accounts (https://docs.gitlab.com/user/project/settings/project_access_tokens/). */
const botName = /^(?:project|group)_\d+_bot_[0-9a-f]+$/;

/** All accounts, created on first use, with the same id in every run. */
export class People {
  readonly #byId = new Map<number, Person>();
  readonly #byName = new Map<string, Person>();

  add(username: string, id: number): Person {
    const [name, bot] = [displayName(username), botName.test(username)];
    const person: Person = { id, username, name, bot, state: "active", membership: "active" };
    this.#byId.set(id, person);
    this.#byName.set(username.toLowerCase(), person);
    return person;
  }

  named(username: string): Person {
    const known = this.#byName.get(username.toLowerCase());
    if (known !== undefined) return known;
    let id = 1000 + (createHash("sha256").update(username.toLowerCase()).digest().readUInt32BE(0) % 1_000_000);
    while (this.#byId.has(id)) id += 1;
    return this.add(username, id);
  }

  /** The account that an e-mail address belongs to. */
  withEmail(email: string): Person | undefined {
    return this.#byName.get(loginOf(email) ?? "");
  }

  withId(id: number): Person | undefined {
    return this.#byId.get(id);
  }
}

function displayName(username: string): string {
  if (botName.test(username)) return "deploy-gate";
  const words = username.split(/[._-]+/).filter((word) => word !== "");
  return words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join(" ");
}
