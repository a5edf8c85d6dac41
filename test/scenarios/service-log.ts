import { z } from "zod";

const logLine = z.looseObject({ level: z.number(), msg: z.string() });
type LogLine = z.output<typeof logLine>;

/** The service's log of a scenario; hand `write` to the bot as its log. */
export class ServiceLog {
  readonly lines: LogLine[] = [];
  readonly #waiting = new Set<() => void>();

  readonly write = (text: string): void => {
    this.lines.push(logLine.parse(JSON.parse(text)));
    for (const look of [...this.#waiting]) look();
  };

  /** Every line as JSON, for looking for what must not be there. */
  get text(): string {
    return this.lines.map((line) => JSON.stringify(line)).join("\n");
  }

  /** Lines with this message. */
  of(message: string): readonly LogLine[] {
    return this.lines.filter(({ msg }) => msg === message);
  }

  /** The first line with this message, waiting until it is written. */
  async first(message: string): Promise<LogLine> {
    for (;;) {
      const [found] = this.of(message);
      if (found !== undefined) return found;
      await new Promise<void>((resolve) => {
        const look = () => {
          this.#waiting.delete(look);
          resolve();
        };
        this.#waiting.add(look);
      });
    }
  }
}
