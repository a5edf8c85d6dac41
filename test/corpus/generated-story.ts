import fc from "fast-check";
import { KINDS, type Edit, type GeneratedFile, type GeneratedObject } from "./generated-files.js";

/** What a generated application reads, and how. */
export interface GeneratedDefinition {
  readonly path: string;
  readonly recurse: boolean;
  readonly exclude: string;
  /** It goes to another namespace than the application's usual one. */
  readonly moved: boolean;
}

export interface Round {
  readonly edits: readonly Edit[];
  /** Definitions that the pull request changes. */
  readonly definitions: Readonly<Record<string, GeneratedDefinition>>;
}

/** A repository of plain manifests, applications that read it, and pull requests that are merged one after the other. */
export interface Story {
  readonly definitions: Readonly<Record<string, GeneratedDefinition>>;
  readonly files: Readonly<Record<string, GeneratedFile>>;
  readonly rounds: readonly Round[];
  /** Whether the last pull request is synced with `--prune`; all others are. */
  readonly prunesLast: boolean;
}

/** Several applications may read one folder: each has a namespace of its own. */
const APPLICATIONS = ["one", "two", "three"];
const FOLDERS = ["apps/a", "apps/b", "apps", "shared", "./shared/", "."];
const FILES = [
  "apps/a/first.yaml",
  "apps/a/second.yml",
  "apps/a/sub/third.yaml",
  "apps/b/first.yml",
  "apps/b/sub/second.yaml",
  "apps/top.yaml",
  "shared/first.yaml",
  "shared/deep/er/second.yaml",
  "root.yaml",
];
/** Never rendered by a directory source, whatever is in it. */
const OTHER_FILES = ["README.md", "apps/a/notes.txt", "shared/values.yaml.tmpl"];

const object: fc.Arbitrary<GeneratedObject> = fc.record({
  kind: fc.constantFrom(...KINDS),
  name: fc.constantFrom("red", "green"),
  value: fc.nat(2),
  labelled: fc.boolean(),
});

const file: fc.Arbitrary<GeneratedFile> = fc.record({
  objects: fc.array(object, { maxLength: 3 }),
  style: fc.constantFrom("plain", "reversed", "commented"),
});

const definition: fc.Arbitrary<GeneratedDefinition> = fc
  .record({
    path: fc.constantFrom(...FOLDERS),
    recurse: fc.boolean(),
    exclude: fc.constantFrom("", "", "*.yml", "sub/*"),
    moved: fc.boolean(),
  })
  // The whole repository holds the Application resources too: that would be an app of apps.
  .map((one) => ({ ...one, recurse: one.recurse && one.path !== "." }));

const path = fc.constantFrom(...FILES);
const what = fc.constantFrom("value", "label", "name", "drop", "repeat", "style");

const edit: fc.Arbitrary<Edit> = fc.oneof(
  { weight: 12, arbitrary: fc.record({ kind: fc.constant("tweak"), path, at: fc.nat(2), what }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("write"), path, file }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("delete"), path }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("raw"), path, text: fc.constant("not: [yaml\n") }) },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant("raw"),
      path: fc.constantFrom(...OTHER_FILES),
      text: fc.constant("kind: ConfigMap\n"),
    }),
  },
);

const round: fc.Arbitrary<Round> = fc.record({
  edits: fc.array(edit, { minLength: 1, maxLength: 4 }),
  definitions: fc.oneof(
    { weight: 3, arbitrary: fc.constant({}) },
    {
      weight: 1,
      arbitrary: fc.tuple(fc.constantFrom(...APPLICATIONS), definition).map((one) => Object.fromEntries([one])),
    },
  ),
});

/** Stories of three applications and up to three pull requests. */
export const story: fc.Arbitrary<Story> = fc.record({
  definitions: fc
    .tuple(definition, definition, definition)
    .map((all) => Object.fromEntries(APPLICATIONS.map((name, at) => [name, all[at] ?? all[0]]))),
  files: fc
    .array(file, { minLength: FILES.length, maxLength: FILES.length })
    .map((all) => Object.fromEntries(all.map((one, at) => [FILES[at] ?? "", one]))),
  rounds: fc.array(round, { minLength: 1, maxLength: 3 }),
  prunesLast: fc.boolean(),
});
