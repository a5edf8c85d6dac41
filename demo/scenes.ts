import type { Shop, ShopValues } from "./shop.js";

/** What people change in the demo, one scene for each thing worth seeing. */
export const SCENES = ["release", "small", "danger", "secret", "failure"] as const;
export type Scene = (typeof SCENES)[number];

/** The people of the demo. `olga` may only read, to show a refusal. */
export const PEOPLE = ["ana", "bo", "olga"] as const;
export type PersonName = (typeof PEOPLE)[number];

/** A change request before it is opened. */
export interface Draft {
  readonly by: PersonName;
  readonly title: string;
  readonly edits: Partial<ShopValues>;
  /** The applications that it changes. */
  readonly applications: readonly string[];
}

/** The change request that a scene opens; `before` is what the main branch has. */
export function draftOf(scene: Scene, before: ShopValues, shop: Shop): Draft {
  const { plain, kustomize, helm, storage, secret } = shop;
  switch (scene) {
    case "release": {
      const [plainTag, kustomizeTag] = [nextMinor(before.plainTag), nextMinor(before.kustomizeTag)];
      return {
        by: "ana",
        title: `Spring sale: ${plain} ${plainTag}, ${kustomize} ${kustomizeTag}`,
        edits: { plainTag, plainReplicas: before.plainReplicas + 1, banner: "Spring sale", kustomizeTag },
        applications: [plain, kustomize],
      };
    }
    case "small": {
      const discount = String(Number(before.discount) + 5);
      const title = `Raise the discount to ${discount} %`;
      return { by: "bo", title, edits: { discount }, applications: [plain] };
    }
    case "danger": {
      const claim = before.claim + 1;
      const title = `Move ${storage} to a new volume`;
      return { by: "bo", title, edits: { claim }, applications: [storage] };
    }
    case "secret": {
      const title = `Rotate the password of ${secret}`;
      return { by: "ana", title, edits: { password: before.password + 1 }, applications: [secret] };
    }
    case "failure": {
      const title = `Send the monthly report of ${helm} to another namespace`;
      const edits = { reports: before.reports + 1, reportsNamespace: MISSING_NAMESPACE };
      return { by: "bo", title, edits, applications: [helm] };
    }
  }
}

/** The namespace that nobody created. */
export const MISSING_NAMESPACE = "reports";

/** The edits after one commit more. */
export function withCommit(
  scene: Scene,
  before: ShopValues,
  edits: Partial<ShopValues>,
  shop: Shop,
): Partial<ShopValues> {
  const now = { ...before, ...edits };
  switch (scene) {
    case "release":
      return { ...edits, plainTag: nextPatch(now.plainTag) };
    case "small":
      return { ...edits, discount: String(Number(now.discount) + 1) };
    case "danger":
      return { ...edits, storageTag: nextPatch(now.storageTag) };
    case "secret":
      return { ...edits, password: now.password + 1 };
    case "failure":
      // The first commit mends it.
      return now.reportsNamespace === shop.namespace
        ? { ...edits, reports: now.reports + 1 }
        : { ...edits, reportsNamespace: shop.namespace };
  }
}

function nextMinor(version: string): string {
  const [major = "0", minor = "0"] = version.split(".");
  return `${major}.${Number(minor) + 1}.0`;
}

function nextPatch(version: string): string {
  const [major = "0", minor = "0", patch = "0"] = version.split(".");
  return `${major}.${minor}.${Number(patch) + 1}`;
}
