/** A program that reads server-sent events; ends with `leave`. */
export class LiveReader {
  readonly #controller = new AbortController();
  readonly #chunks: AsyncIterator<Uint8Array>;
  #text = "";

  private constructor(
    readonly response: Response,
    controller: AbortController,
  ) {
    this.#controller = controller;
    if (response.body === null) throw new Error("no body");
    this.#chunks = response.body[Symbol.asyncIterator]();
  }

  static async open(url: string, headers: Readonly<Record<string, string>> = {}): Promise<LiveReader> {
    const controller = new AbortController();
    return new LiveReader(await fetch(url, { headers, signal: controller.signal }), controller);
  }

  /** Reads on until this was sent; the stream's end gives what there is. */
  async until(wanted: string): Promise<string> {
    while (!this.#text.includes(wanted)) {
      const next = await this.#chunks.next();
      if (next.done === true) return this.#text;
      this.#text += new TextDecoder().decode(next.value);
    }
    return this.#text;
  }

  leave(): void {
    this.#controller.abort();
  }
}
