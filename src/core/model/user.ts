/** A person or program on a code host. */
export interface User {
  /** The host's numeric id as text; unlike a login it never changes. */
  readonly id: string;
  readonly login: string;
  /** The host marks it as a bot, an app or a token's account. */
  readonly bot: boolean;
}
