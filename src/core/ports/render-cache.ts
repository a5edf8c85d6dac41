import type { Manifest } from "../model/application.js";
import type { Revision } from "../model/brand.js";
import type { JsonText } from "../model/json.js";

/** Manifests with the commit that Argo CD rendered them at, whose id may appear in their values. */
export interface RenderedManifests {
  readonly manifests: JsonText<readonly Manifest[]>;
  readonly renderedAt: Revision;
}

/** Earlier renders, by a key that covers all their inputs. In memory only. */
export interface RenderCache {
  find(key: string): RenderedManifests | undefined;
  keep(key: string, rendered: RenderedManifests): void;
}
