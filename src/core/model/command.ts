/** Restricts a command to these applications, given as names, patterns and labels; empty means all. */
interface Narrowed {
  readonly applications: readonly string[];
}

interface Deploying extends Narrowed {
  /** Let Argo CD try it without changing anything. */
  readonly dryRun: boolean;
  /** Delete from the cluster what the repository no longer has. */
  readonly prune: boolean;
}

interface Holding extends Narrowed {
  /** For people; empty if it was not given. Untrusted. */
  readonly reason: string;
  /** A duration or a time, as it was written; empty if it was not given. */
  readonly until: string;
}

/** Every command with the options that it takes. `core/commands/commands.ts` says what each one is. */
export interface CommandOptions {
  readonly plan: Narrowed;
  readonly sync: Deploying;
  readonly rollback: Deploying;
  readonly unlock: Narrowed;
  readonly update: object;
  readonly revert: object;
  readonly hold: Holding;
  readonly release: Narrowed;
  readonly help: object;
}

export type CommandName = keyof CommandOptions;

/**
 * What a person can ask for in a comment. `Command<"sync">` is one of them, `Command` any. `bare`: its only application was
 * written without `-a`, and counts only if the change request has an application of exactly that name. `automatic`: svc gives it,
 * in somebody's name.
 */
export type Command<N extends CommandName = CommandName> = {
  [K in N]: { readonly name: K; readonly bare?: true; readonly automatic?: true } & CommandOptions[K];
}[N];

/** Syncs or rolls back. */
export type DeployingCommand = Extract<Command, Deploying>;
