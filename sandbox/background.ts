/** Work that a host does after its answer: the first look finds it under way, the next one waits for its end. */
export class Background {
  #looked = false;
  #ended = false;

  /** @param done must not fail. */
  constructor(readonly done: Promise<void>) {
    void done.then(() => {
      this.#ended = true;
    });
  }

  /** Whether it is under way. */
  async look(): Promise<boolean> {
    if (this.#looked) await this.done;
    this.#looked = true;
    return !this.#ended;
  }
}
