import type { ServerConfig } from "../../src/config/server/server.js";
import { createManifestScanner } from "../../src/core/detect/scan/manifests.js";
import { repositoryName } from "../../src/core/model/brand.js";
import type { ChangeRequest, User } from "../../src/core/model/change-request.js";
import type { MergeIntent } from "../../src/core/model/result.js";
import type { MergeOutcome } from "../../src/core/ports/code-host.js";
import { hostWords } from "../../src/hosts/registry.js";
import { SERVICE } from "../../src/names.js";
import { inlineCompute } from "../in-memory/inline-compute.js";
import { MemoryHost, type MemoryHostOptions } from "../in-memory/memory-host.js";
import { testConfig } from "../in-memory/test-config.js";
import { applicationResource, asYaml, configMap } from "../scenarios/resources.js";
import type { Rules } from "./conversation.js";

export const REPOSITORY = repositoryName("acme/deploy");
const URL = `https://git.example.com/${REPOSITORY}.git`;
/** Argo CD deploys `auto` by itself; only olga may sync `api` where there are lists. */
export const NAMES = ["web", "api", "db", "auto"] as const;
export const ANA: User = { id: "1", login: "ana", bot: false };
export const OLGA: User = { id: "2", login: "olga", bot: false };
export const WORDS = hostWords(SERVICE);
/** Remembers what texts say, for all conversations. */
export const SCANNER = createManifestScanner(inlineCompute);
export const LISTS = "sync_requirements:\n  - name: api\n    allowed_users: [olga]\n";

interface TalkHostOptions extends MemoryHostOptions {
  /** The service is about to merge a change request. */
  readonly merging: (number: number) => Promise<void>;
}

/** A host that tells of a merge before it is done. */
export class TalkHost extends MemoryHost {
  readonly #merging: TalkHostOptions["merging"];

  constructor(options: TalkHostOptions) {
    super(options);
    this.#merging = options.merging;
  }

  override merge(change: ChangeRequest, confirm: () => Promise<MergeIntent | undefined>): Promise<MergeOutcome> {
    return super.merge(change, async () => {
      const intent = await confirm();
      if (intent !== undefined) await this.#merging(change.number);
      return intent;
    });
  }
}

/** Reading a configuration takes longer than a conversation. */
const CONFIGS = new Map<string, ServerConfig>();

export function configFor(
  { autoMerge, requireApproval, requireUpToDate, skipNoChanges }: Rules,
  commitStatus = false,
): ServerConfig {
  const defaults = {
    auto_merge: autoMerge,
    require_approval: requireApproval,
    require_up_to_date: requireUpToDate,
    skip_no_changes: skipNoChanges,
  };
  const key = JSON.stringify(defaults);
  const config = CONFIGS.get(key) ?? testConfig(defaults);
  CONFIGS.set(key, config);
  const { hostb } = config;
  return commitStatus && hostb !== undefined ? { ...config, hostb: { ...hostb, commitStatus } } : config;
}

export function person(user: User | undefined): User {
  return user ?? ANA;
}

export function filesOf(name: string): readonly (readonly [string, string])[] {
  return [
    [`apps/${name}/configmap.yaml`, configMap(name, { value: "1" })],
    [`argocd/${name}.yaml`, asYaml(applicationResource(name, { repoURL: URL, spec: specOf(name) }))],
  ];
}

export function specOf(name: string) {
  return {
    project: "default",
    source: { repoURL: URL, path: `apps/${name}`, targetRevision: "main" },
    destination: { server: "https://kubernetes.default.svc", namespace: "guestbook" },
    ...(name === "auto" ? { syncPolicy: { automated: {} } } : {}),
  };
}
