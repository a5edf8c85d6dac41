/** The files of the change request's repository that an application is rendered from, source by source. */
export type InputSet = readonly InputPart[];

/** What one source reads, from its own repository and through `$ref/…` from others. */
export interface InputPart {
  /** 1-based position of the source that reads. */
  readonly position: number;
  /** Clean `path` of that source; entries of `manifest-generate-paths` are relative to it. */
  readonly sourcePath: string;
  /** Why the whole repository counts as its input; undefined when its inputs are known. */
  readonly whole: string | undefined;
  /** Files, and directories with everything below them. */
  readonly paths: readonly string[];
  readonly patterns: readonly string[];
  /** It reads something that no commit of this repository decides: a URL, a remote base, a chart without a fixed version. */
  readonly remote: boolean;
  /** Texts in its files that may be addresses of repositories, this one included. */
  readonly addresses?: readonly string[];
  /** It reads charts of fixed versions, which somebody could publish again. */
  readonly versions?: boolean;
}

/** What an application reads at a commit, and which paths of the commit's tree decide that. */
export interface FoundInputs {
  readonly inputs: InputSet;
  /** The inputs are the same at a commit that differs at, above and below none of these paths. Undefined if unknown. */
  readonly decidedBy: readonly string[] | undefined;
}
