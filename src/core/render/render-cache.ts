import { LRUCache } from "lru-cache";
import type { Clock } from "../ports/clock.js";
import type { RenderCache, RenderedManifests } from "../ports/render-cache.js";

const MAX_BYTES = 64 * 1024 * 1024;
/** A larger part of that for one render would take the place of hundreds. */
const MAX_SHARE = 1 / 4;
/** Keys lack Argo CD's version, its settings and the cluster's API versions: their changes show after an hour. */
const MAX_AGE_MS = 60 * 60_000;

interface Entry extends RenderedManifests {
  readonly keptAt: number;
}

/** Holds at most 64 MiB, 16 in one entry, and each for at most an hour. */
export function createRenderCache(clock: Clock, maxBytes = MAX_BYTES): RenderCache {
  const entries = new LRUCache<string, Entry>({ maxSize: maxBytes, maxEntrySize: maxBytes * MAX_SHARE });
  return {
    find(key) {
      const entry = entries.get(key);
      if (entry === undefined) return undefined;
      if (clock.now().getTime() - entry.keptAt >= MAX_AGE_MS) {
        entries.delete(key);
        return undefined;
      }
      return { manifests: entry.manifests, renderedAt: entry.renderedAt };
    },
    keep(key, { manifests, renderedAt }) {
      const size = 2 * (manifests.length + key.length) + 200;
      entries.set(key, { manifests, renderedAt, keptAt: clock.now().getTime() }, { size });
    },
  };
}
