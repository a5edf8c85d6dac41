/** Why a git command gave no answer. `stderr` is git's own text: untrusted, bounded, possibly with secrets in it. */
export class GitFailure extends Error {
  override readonly name = "GitFailure";
  constructor(
    readonly kind:
      "exit" | "timeout" | "too-much-output" | "too-big" | "not-started" | "unknown-commit" | "unexpected-answer",
    readonly stderr: string,
    options?: ErrorOptions,
  ) {
    super(`git: ${kind}`, options);
  }
}
