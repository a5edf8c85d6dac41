/** For what is looked at a hundred times per input, where an `expect` would cost more than what it looks at. */
export function must(holds: boolean, otherwise: string): void {
  if (!holds) throw new Error(otherwise);
}
