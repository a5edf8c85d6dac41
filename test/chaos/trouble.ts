/** When Redis could not be relied on, by somebody. */
export class Trouble {
  readonly #spans: { readonly from: number; until: number }[] = [];

  /** Trouble from now on; the returned function ends it after so many milliseconds more. */
  begin(): (after: number) => void {
    const span = { from: Date.now(), until: Number.POSITIVE_INFINITY };
    this.#spans.push(span);
    return (after) => {
      span.until = Date.now() + after;
    };
  }

  during(from: number, until: number): boolean {
    return this.#spans.some((span) => span.from <= until && span.until >= from);
  }
}
