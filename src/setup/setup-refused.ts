/** Setup cannot go on. The message is for the operator and says what to do. */
export class SetupRefused extends Error {
  override readonly name = "SetupRefused";
  /** Another try of the same setup cannot succeed. */
  readonly final: boolean;

  constructor(message: string, { final = false }: { readonly final?: boolean } = {}) {
    super(message);
    this.final = final;
  }
}
