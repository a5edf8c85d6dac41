import { createHash } from "node:crypto";
import { isObject, listAt, type JsonObject } from "../json.js";
import type { Application, Operation } from "../resource.js";
import type { World } from "../world.js";

export type HealthWord = "Healthy" | "Progressing" | "Degraded" | "Suspended" | "Missing" | "Unknown";

/** The health of an application in one read of it. */
export interface HealthLook {
  readonly status: HealthWord;
  /** Objects that are not healthy; the first may be managed by the application, each owns the next. */
  readonly objects?: readonly SickObject[];
}

export interface SickObject {
  readonly group?: string;
  readonly kind: string;
  readonly name: string;
  readonly status: HealthWord;
  readonly message?: string;
}

export interface HealthPlayOptions {
  /** The time of the last comparison stays older than the sync until somebody asks for a refresh. */
  readonly comparedOnlyWhenAsked?: boolean;
}

interface Play {
  readonly looks: readonly HealthLook[];
  /** The last operation before it. */
  readonly after: Operation | undefined;
  at: number;
  silent: boolean;
}

/** Healths that follow each other, one per read of an application after its next operation ended; the last one stays. */
export class HealthPlays {
  readonly #plays = new Map<Application, Play>();

  constructor(readonly world: World) {}

  set(
    application: Application,
    looks: readonly HealthLook[],
    { comparedOnlyWhenAsked = false }: HealthPlayOptions,
  ): void {
    const after = application.operationState?.operation;
    this.#plays.set(application, { looks, after, at: -1, silent: comparedOnlyWhenAsked });
  }

  /** Writes what one read shows. A refresh shows the same as the read before it. */
  show(application: Application, refreshed: boolean): void {
    const play = this.#plays.get(application);
    const { finishedAt, operation } = application.operationState ?? {};
    if (play === undefined || finishedAt === undefined || operation === play.after) return;
    if (application.operation !== undefined) return;
    if (play.silent && !refreshed) {
      const before = new Date(Date.parse(finishedAt) - 60_000);
      application.status = { ...application.status, reconciledAt: before.toISOString().replace(/\.\d+Z$/, "Z") };
      return;
    }
    play.silent = false;
    if (!refreshed) play.at = Math.min(play.at + 1, play.looks.length - 1);
    const look = play.looks[Math.max(0, play.at)];
    if (look === undefined) return;
    const health = isObject(application.status.health) ? application.status.health : {};
    const changed = health.status !== look.status || health.lastTransitionTime === undefined;
    application.status = {
      ...application.status,
      reconciledAt: this.world.timestamp(),
      health: {
        status: look.status,
        lastTransitionTime: changed ? this.world.timestamp() : (health.lastTransitionTime ?? ""),
      },
      resources: listAt(application.status, "resources").map((resource) => withHealth(resource, look)),
    };
  }

  /** Objects that the last read showed as unhealthy. */
  objectsOf(application: Application): readonly SickObject[] {
    const play = this.#plays.get(application);
    return play === undefined ? [] : (play.looks[Math.max(0, play.at)]?.objects ?? []);
  }
}

/** The uid that the resource tree shows. */
export function uidOf(kind: string, name: string): string {
  return createHash("sha256").update(`${kind}/${name}`).digest("hex").slice(0, 32);
}

function withHealth(resource: unknown, { objects = [] }: HealthLook): JsonObject {
  if (!isObject(resource)) return {};
  const sick = objects.find(({ kind, name }) => kind === resource.kind && name === resource.name);
  if (sick === undefined) return resource;
  const message = sick.message === undefined ? {} : { message: sick.message };
  return { ...resource, health: { status: sick.status, ...message } };
}
