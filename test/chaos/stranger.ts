import { setTimeout as delay } from "node:timers/promises";
import { readMarker } from "../../src/comments/marker.js";
import { HOST_IDS } from "../../src/names.js";
import { hostileFiles, NESTED_KEYS } from "../attacks/hostile-files.js";
import type { Aftermath } from "./invariants.js";
import { placeKey, REPOSITORY, type Place } from "./observer.js";
import type { Outside } from "./outside.js";
import type { Random } from "./random.js";

const LOGIN = "mallory";
const COMMANDS = ["svc help", "svc plan", "svc sync", "svc unlock", "svc nonsense"];

/**
 * A person without access: opens a change request from a fork on each host with files that cost most to read, then pushes
 * and comments until the signal says that it is enough. Returns the change requests.
 */
export async function intrude(
  { forges }: Outside,
  random: Random,
  note: (what: string) => void,
  signal: AbortSignal,
): Promise<readonly Place[]> {
  return Promise.all(
    HOST_IDS.map(async (host): Promise<Place> => {
      const forge = forges[host];
      const number = await forge.open({ repository: REPOSITORY, by: LOGIN, fork: true, changes: hostileFiles() });
      note(`${host} #${number} opened by ${LOGIN}`);
      for (let round = 1; !signal.aborted; round += 1) {
        await delay(random.between(300, 1_500));
        if (random.chance(0.3)) {
          await forge.push(REPOSITORY, number, {
            [`hostile/${round}.yaml`]: NESTED_KEYS,
          });
          note(`${host} #${number} pushed by ${LOGIN}`);
        } else await forge.comment(REPOSITORY, number, LOGIN, random.pick(COMMANDS));
      }
      return { host, number };
    }),
  );
}

/** What the service must not do for a stranger. */
export async function wrongForStrangers(
  places: readonly Place[],
  { forges }: Outside,
  { observer, passed, isRefused }: Aftermath,
): Promise<string[]> {
  const keys = new Set(places.map(placeKey));
  const locks = await observer.locks();
  return [
    ...[...locks].filter(([, holder]) => keys.has(holder)).map(([name, holder]) => `${name} is locked by ${holder}`),
    ...observer.syncs
      .filter(({ change }) => keys.has(change))
      .map(({ change, application }) => `${change} synced ${application}`),
    ...places.flatMap((place) => {
      const { state, comments } = forges[place.host].changeRequest(REPOSITORY, place.number);
      const answers = comments.flatMap(({ id, body }) => {
        const marker = readMarker(body);
        return marker === undefined ? [] : [`${id}: ${JSON.stringify(marker)}`];
      });
      // A replica without Redis answers at once, and so perhaps beside another one.
      const beside = passed.filter(({ host, delivery }) => host === place.host && isRefused(delivery)).length;
      return [
        ...(state === "open" ? [] : [`${placeKey(place)}, a stranger's, was ${state}`]),
        ...(answers.length <= 1 + beside
          ? []
          : [`${placeKey(place)}, a stranger's, has the answers ${answers.join(", ")}`]),
      ];
    }),
  ];
}
