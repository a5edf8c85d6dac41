import type { Instance } from "./model/instance.js";
import type { Webhook } from "./model/webhook.js";

/** The webhooks that somebody set up, and who may do that. */
export interface GitLabWebhooks {
  /** Oldest first, with the secrets that the API never shows. */
  readonly all: readonly Webhook[];
  /** Changes the webhook, as its settings page does. */
  change(id: number, change: Partial<Webhook>): void;
  /** Whether this version signs. Default: true. */
  setSigning(signs: boolean): void;
  /** Gives the account with this name the access level in a group; the service's own if it is `undefined`. */
  setGroupLevel(group: string, level: number, username?: string): void;
  setProjectLevel(project: string, level: number, username?: string): void;
  /** Creates a token of somebody. */
  addToken(token: string, username: string, options?: { readonly admin?: boolean }): void;
}

export function seenWebhooks(instance: Instance): GitLabWebhooks {
  const idOf = (username: string | undefined): number =>
    username === undefined ? instance.bot.id : instance.people.named(username).id;
  return {
    all: instance.webhooks,
    change: (id, change) => {
      const index = instance.webhooks.findIndex((hook) => hook.id === id);
      const known = instance.webhooks[index];
      if (known === undefined) throw new Error(`There is no webhook ${id}`);
      instance.webhooks[index] = { ...known, ...change };
    },
    setSigning: (signs) => {
      instance.signsHooks = signs;
    },
    setGroupLevel: (group, level, username) => {
      const key = group.toLowerCase();
      const levels = instance.groupLevels.get(key) ?? new Map<number, number>();
      instance.groupLevels.set(key, levels.set(idOf(username), level));
    },
    setProjectLevel: (project, level, username) => void instance.project(project).members.set(idOf(username), level),
    addToken: (token, username, { admin = false } = {}) => {
      const person = instance.people.named(username);
      instance.otherTokens.set(token, { person, scopes: ["api"], admin });
    },
  };
}
