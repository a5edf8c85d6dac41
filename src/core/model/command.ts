/** What a person can ask for in a comment. An empty list of applications means all of them. */
export type Command =
  | { readonly name: "plan"; readonly applications: readonly string[] }
  | {
      readonly name: "sync";
      readonly applications: readonly string[];
      readonly dryRun: boolean;
      readonly prune: boolean;
    }
  | {
      readonly name: "rollback";
      readonly applications: readonly string[];
      readonly dryRun: boolean;
      readonly prune: boolean;
    }
  | { readonly name: "unlock"; readonly applications: readonly string[] }
  | { readonly name: "help" };

export type CommandName = Command["name"];
