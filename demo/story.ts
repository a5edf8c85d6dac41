import { createTwoFilesPatch } from "diff";
import type { Forge } from "../sandbox/forge.js";
import type { HostId } from "../src/names.js";
import { draftOf, type PersonName, type Scene, withCommit } from "./scenes.js";
import { FIRST_VALUES, shopFiles, type Shop, type ShopValues } from "./shop.js";

export interface StoryParts {
  readonly host: HostId;
  readonly forge: Forge;
  readonly shop: Shop;
}

interface Chapter {
  readonly scene: Scene;
  readonly applications: readonly string[];
  readonly before: ShopValues;
  readonly edits: Partial<ShopValues>;
}

/** One repository on one host, and what people do there. Each action resolves once its webhooks are answered. */
export class Story {
  readonly host: HostId;
  readonly forge: Forge;
  readonly shop: Shop;
  readonly #chapters = new Map<number, Chapter>();
  readonly #approvals = new Map<number, { readonly by: PersonName; readonly head: string }>();
  #branches: readonly string[] = [];

  constructor({ host, forge, shop }: StoryParts) {
    this.host = host;
    this.forge = forge;
    this.shop = shop;
  }

  /** Creates the repository on its host. */
  async begin(): Promise<void> {
    const { forge, shop } = this;
    await forge.createRepository(shop.repository, shopFiles(shop, FIRST_VALUES, this.cloneUrlToBe()));
    forge.setAccess(shop.repository, "ana", "write");
    forge.setAccess(shop.repository, "bo", "write");
    forge.setAccess(shop.repository, "olga", "read");
  }

  /** The clone URL. Files of the repository need it before the repository exists. */
  cloneUrlToBe(): string {
    return `${this.forge.url}/${this.shop.repository}.git`;
  }

  /** Reads the branches from git. The page asks too often to do so each time. */
  async look(): Promise<void> {
    this.#branches = await this.forge.branches(this.shop.repository);
  }

  hasBranch(name: string): boolean {
    return this.#branches.includes(name);
  }

  get numbers(): readonly number[] {
    return [...this.#chapters.keys()];
  }

  has(number: number): boolean {
    return this.#chapters.has(number);
  }

  /** Opens the change request of a scene. */
  async open(scene: Scene): Promise<number> {
    const before = this.#mainValues();
    const { by, title, edits, applications } = draftOf(scene, before, this.shop);
    const { repository } = this.shop;
    const branch = `${scene}-${this.#chapters.size + 1}`;
    const number = await this.forge.open({ repository, by, title, branch, changes: this.#changed(before, edits) });
    // GitLab keeps commit statuses in pipelines.
    this.forge.runPipeline(repository, number);
    this.#chapters.set(number, { scene, applications, before, edits });
    return number;
  }

  /** Adds a commit. */
  async push(number: number): Promise<void> {
    const chapter = this.#chapter(number);
    const { scene, before } = chapter;
    const edits = withCommit(scene, before, chapter.edits, this.shop);
    await this.forge.push(this.shop.repository, number, this.#changed({ ...before, ...chapter.edits }, edits));
    this.forge.runPipeline(this.shop.repository, number);
    this.#chapters.set(number, { ...chapter, edits });
  }

  async approve(number: number): Promise<void> {
    const by = this.approver(number);
    const { headRevision: head } = this.forge.changeRequest(this.shop.repository, number);
    await this.forge.review(this.shop.repository, number, by, "approve");
    this.#approvals.set(number, { by, head });
  }

  async comment(number: number, by: PersonName, body: string): Promise<void> {
    await this.forge.comment(this.shop.repository, number, by, body);
  }

  /** A person other than the author. */
  approver(number: number): PersonName {
    return this.forge.changeRequest(this.shop.repository, number).author === "bo" ? "ana" : "bo";
  }

  approval(number: number): { readonly by: PersonName; readonly head: string } | undefined {
    return this.#approvals.get(number);
  }

  scene(number: number): Scene {
    return this.#chapter(number).scene;
  }

  /** The applications that it changes. */
  applications(number: number): readonly string[] {
    return this.#chapter(number).applications;
  }

  /** The changes as one unified diff per file. */
  patches(number: number): readonly { readonly path: string; readonly diff: string }[] {
    const { before, edits } = this.#chapter(number);
    const old = this.#files(before);
    return Object.entries(this.#changed(before, edits)).map(([path, text]) => {
      const patch = createTwoFilesPatch(path, path, old[path] ?? "", text, undefined, undefined, { context: 2 });
      return { path, diff: patch.slice(patch.indexOf("@@")) };
    });
  }

  #chapter(number: number): Chapter {
    const chapter = this.#chapters.get(number);
    if (chapter === undefined) throw new Error(`There is no change request ${number} in ${this.shop.repository}`);
    return chapter;
  }

  /** The main branch's values: everything merged so far. */
  #mainValues(): ShopValues {
    let values = FIRST_VALUES;
    for (const [number, { edits }] of this.#chapters) {
      const { state } = this.forge.changeRequest(this.shop.repository, number);
      if (state === "merged") values = { ...values, ...edits };
    }
    return values;
  }

  #files(values: ShopValues): Readonly<Record<string, string>> {
    return shopFiles(this.shop, values, this.cloneUrlToBe());
  }

  #changed(before: ShopValues, edits: Partial<ShopValues>): Readonly<Record<string, string>> {
    const old = this.#files(before);
    const changed = Object.entries(this.#files({ ...before, ...edits })).filter(([path, text]) => old[path] !== text);
    return Object.fromEntries(changed);
  }
}
