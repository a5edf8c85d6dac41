import type { FileChanges, Forge, SeenChangeRequest } from "../../sandbox/forge.js";
import type { HostId } from "../../src/names.js";
import type { Service } from "../../src/service/service.js";
import { untilIdle } from "../until-idle.js";

/** A step did not see what it must; `shown` is what it saw instead. */
export class Unexpected extends Error {
  override readonly name = "Unexpected";

  constructor(
    message: string,
    readonly shown: string,
  ) {
    super(message);
  }
}

const PEOPLE: ReadonlySet<string> = new Set(["ana", "bo"]);

/** People on a code host in miniature who talk to the running service. */
export class Conversation {
  constructor(
    readonly host: HostId,
    readonly repository: string,
    private readonly forge: Forge,
    private readonly service: Service,
  ) {}

  get title(): string {
    return this.forge.title;
  }

  /** Opens a change request by `ana`, and waits for the answer. */
  async open(changes: FileChanges, by = "ana"): Promise<number> {
    const number = await this.forge.open({ repository: this.repository, by, changes });
    await this.idle();
    return number;
  }

  /** Writes a comment, and waits for the answer, which it returns. */
  async comment(number: number, body: string): Promise<string> {
    await this.forge.comment(this.repository, number, "ana", body);
    await this.idle();
    return this.answer(number);
  }

  async push(number: number, changes: FileChanges): Promise<void> {
    await this.forge.push(this.repository, number, changes);
    await this.idle();
  }

  async pushToMain(changes: FileChanges): Promise<void> {
    await this.forge.pushToBranch(this.repository, "main", changes);
    await this.idle();
  }

  async close(number: number): Promise<void> {
    await this.forge.close(this.repository, number);
    await this.idle();
  }

  seen(number: number): SeenChangeRequest {
    return this.forge.changeRequest(this.repository, number);
  }

  /** The service's last comment on the change request. */
  answer(number: number): string {
    const said = this.seen(number).comments.filter(({ author }) => !PEOPLE.has(author));
    return said.at(-1)?.body ?? "";
  }

  /** Until no webhook is on its way and nothing runs in the service. */
  idle(): Promise<void> {
    return untilIdle(this.forge, this.service);
  }
}

/** @throws {Unexpected} unless the text holds each of these. */
export function mustHold(text: string, ...parts: readonly string[]): void {
  const missing = parts.filter((part) => !text.includes(part));
  if (missing.length === 0) return;
  throw new Unexpected(`svc's comment lacks ${missing.map((part) => JSON.stringify(part)).join(" and ")}`, text);
}

/** @throws {Unexpected} unless they are the same. */
export function mustBe<T extends string | undefined>(what: string, found: T, wanted: T): void {
  if (found !== wanted) throw new Unexpected(`${what} is not ${quoted(wanted)}`, quoted(found));
}

export function quoted(value: string | undefined): string {
  return value === undefined ? "absent" : JSON.stringify(value);
}
