/** A person or program on a code host. */
export interface User {
  /** The host's own numeric id as text; logins can be renamed, ids cannot. */
  readonly id: string;
  readonly login: string;
  /** True for what the host itself marks as a bot, an app or a token's account. */
  readonly bot: boolean;
}
