import type { Manifest } from "../model/application.js";
import type { Revision } from "../model/brand.js";

/** Manifests with the commit that Argo CD rendered them at: its id may stand in their values. */
export interface RenderedManifests {
  readonly manifests: readonly Manifest[];
  readonly renderedAt: Revision;
}

/** What was rendered before, by a key that names everything it was made of. In memory only. */
export interface RenderCache {
  find(key: string): RenderedManifests | undefined;
  keep(key: string, rendered: RenderedManifests): void;
}
