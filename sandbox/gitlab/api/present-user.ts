import type { ExpandedUserSchema, SimpleMemberSchema, SimpleUserSchema } from "@gitbeaker/rest";
import type { Instance, TokenHolder } from "../model/instance.js";
import type { Person } from "../model/people.js";
import type { Members } from "./members.js";

export type ShownUser = Members<SimpleUserSchema, "created_at"> & { readonly locked: boolean };

export function showUser(instance: Instance, person: Person): ShownUser {
  const { id, username, name, state } = person;
  return {
    id,
    username,
    name,
    state,
    locked: false,
    avatar_url: `${instance.url}/uploads/-/system/user/avatar/${id}/avatar.png`,
    web_url: `${instance.url}/${username}`,
  };
}

type CurrentUser = ShownUser &
  Pick<
    Members<ExpandedUserSchema>,
    "created_at" | "bio" | "bot" | "public_email" | "email" | "confirmed_at" | "external" | "two_factor_enabled"
  > & { readonly is_admin?: boolean };

/** The account behind the token. */
export function showCurrentUser(instance: Instance, { person, admin }: TokenHolder): CurrentUser {
  return {
    ...showProfile(instance, person),
    email: `${person.username}@noreply.localhost`,
    confirmed_at: instance.startedAt.toISOString(),
    external: false,
    two_factor_enabled: false,
    // Nobody else learns of this member.
    ...(admin ? { is_admin: true } : {}),
  };
}

type Profile = ShownUser & Pick<CurrentUser, "created_at" | "bio" | "bot" | "public_email">;

/** An account as other users see it. */
export function showProfile(instance: Instance, person: Person): Profile {
  return {
    ...showUser(instance, person),
    created_at: instance.startedAt.toISOString(),
    bio: "",
    bot: person.bot,
    public_email: null,
  };
}

type ShownMember = ShownUser &
  Members<SimpleMemberSchema, "access_level" | "email" | "expires_at"> & {
    readonly access_level: number;
    readonly created_at: string;
    readonly expires_at: string | null;
    readonly membership_state: string;
  };

export function showMember(instance: Instance, person: Person, level: number): ShownMember {
  return {
    ...showUser(instance, person),
    access_level: level,
    created_at: instance.startedAt.toISOString(),
    expires_at: null,
    membership_state: person.membership,
  };
}
