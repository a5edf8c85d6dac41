import { stringify } from "yaml";
import { LABELS } from "../../src/names.js";
import { mustBe, mustHold, quoted, Unexpected, type Conversation } from "./conversation.js";
import {
  configMap,
  definition,
  deployment,
  kustomization,
  nameOf,
  rules,
  type AnyRole,
  type Setting,
} from "./files.js";
import type { OwnObjects, SeenApplication } from "./own-objects.js";
import { waitFor } from "./waiting.js";

/** Longer than a real Argo CD takes to notice what happened. */
const NOTICED_MS = 60_000;

export interface Step {
  readonly name: string;
  run(): Promise<void>;
}

/** Steps of which each needs those before it. */
export type Chain = readonly Step[];

/** What a real Argo CD is asked on one host. Everything is seen from outside: in comments, and in Argo CD's API. */
export function chainsOf(talk: Conversation, own: OwnObjects, setting: Setting): readonly Chain[] {
  const name = (role: AnyRole) => nameOf(setting, role);
  const opened = new Map<string, number>();
  const the = (which: string): number => opened.get(which) ?? 0;
  const open = async (which: string, changes: Parameters<Conversation["open"]>[0], by?: string): Promise<string> => {
    const number = await talk.open(changes, by);
    opened.set(which, number);
    return talk.answer(number);
  };

  /** A value of a live ConfigMap. */
  async function liveValue(role: AnyRole, object = name(role)): Promise<string | undefined> {
    const live = await own.live(name(role), "ConfigMap", object);
    return (live as { readonly data?: Readonly<Record<string, string>> } | undefined)?.data?.value;
  }

  /** Argo CD's view follows the cluster within seconds. */
  async function becomes(role: AnyRole, wanted: string | undefined, object = name(role)): Promise<void> {
    let last: string | undefined;
    const look = async () => ((last = await liveValue(role, object)) === wanted ? true : undefined);
    const { waiting } = own;
    const end = `ConfigMap ${object} did not become ${quoted(wanted)}`;
    await waitFor(look, end, NOTICED_MS, waiting).catch((error: unknown) => {
      if (waiting.signal.aborted || !(error instanceof Error)) throw error;
      throw new Unexpected(error.message, quoted(last));
    });
  }

  /** The last operation deployed the head commit in each source. */
  async function isHead(role: AnyRole, which: string): Promise<void> {
    const { revision = "", revisions } = resultOf(await own.application(name(role)));
    const { headRevision } = talk.seen(the(which));
    for (const one of revisions ?? [revision]) mustBe("the deployed commit", one, headRevision);
  }

  const state = (which: string, wanted: "open" | "merged") => mustBe("its state", talk.seen(the(which)).state, wanted);

  const deploys: Chain = [
    {
      name: "a plan shows what would change, and locks",
      async run() {
        const answer = await open("change", { "apps/plain/settings.yaml": configMap(name("plain"), "two") });
        mustHold(
          answer,
          `\`${name("plain")}\``,
          "**Changes:** 0 to create, 1 to update",
          "-  value: one",
          "+  value: two",
        );
        mustHold(answer, "**Status:** Locked by this PR");
        mustBe("the live value", await liveValue("plain"), "one");
      },
    },
    {
      name: "another change request sees who holds the lock",
      async run() {
        const answer = await open("second", { "apps/plain/settings.yaml": configMap(name("plain"), "three") }, "bo");
        mustHold(answer, `Locked by PR #${the("change")} (ana)`);
        await talk.close(the("second"));
      },
    },
    {
      name: "a dry run changes nothing",
      async run() {
        const answer = await talk.comment(the("change"), "svc sync --dry-run");
        mustHold(answer, "the dry run succeeded, nothing was changed");
        mustBe("the live value", await liveValue("plain"), "one");
        state("change", "open");
      },
    },
    {
      name: "a sync deploys the head commit and merges",
      async run() {
        mustHold(await talk.comment(the("change"), "svc sync"), "✅ succeeded");
        await isHead("plain", "change");
        await becomes("plain", "two");
        state("change", "merged");
      },
    },
    {
      name: "after the merge nothing differs from the target branch",
      async run() {
        const look = async () => {
          const { status } = await own.application(name("plain"), "hard");
          return status?.sync?.status === "Synced" ? true : undefined;
        };
        await waitFor(look, `${name("plain")} was not Synced`, NOTICED_MS, own.waiting);
      },
    },
  ];

  const overlay: Chain = [
    {
      name: "what renders the same is no change",
      async run() {
        const changed = kustomization(["settings.yaml", "extra.yaml"], "only a comment");
        const answer = await open("same", { "apps/overlay/kustomization.yaml": changed });
        mustHold(answer, "No changes: the head commit and the target branch render the same.");
        await talk.close(the("same"));
      },
    },
    {
      name: "what the repository no longer has is named, and deleted with --prune",
      async run() {
        const extra = `${name("overlay")}-extra`;
        const answer = await open("less", {
          "apps/overlay/kustomization.yaml": kustomization(["settings.yaml"]),
          "apps/overlay/extra.yaml": null,
        });
        mustHold(answer, "**Deletes:** 1 to delete (kept in the cluster without --prune)", extra);
        mustBe("the live value", await liveValue("overlay", extra), "one");
        mustHold(await talk.comment(the("less"), "svc sync --prune"), "✅ succeeded");
        await becomes("overlay", undefined, extra);
      },
    },
  ];

  const sources: Chain = [
    {
      name: "an application with several sources: the plan, and a sync of both at the head commit",
      async run() {
        await talk.pushToMain({ ".svc.yaml": rules(setting, false) });
        const answer = await open("values", { "values/chart.yaml": stringify({ value: "two" }) });
        mustHold(answer, "**Changes:** 0 to create, 1 to update", "+  value: two");
        mustHold(await talk.comment(the("values"), "svc sync"), "✅ succeeded");
        await isHead("chart", "values");
        await becomes("chart", "two");
        state("values", "open");
      },
    },
    {
      name: "a rollback deploys the target branch again",
      async run() {
        mustHold(await talk.comment(the("values"), "svc rollback"), "✅ succeeded");
        await becomes("chart", "one");
        await talk.close(the("values"));
        await talk.pushToMain({ ".svc.yaml": rules(setting, true) });
      },
    },
  ];

  const workload: Chain = [
    {
      name: "what Kubernetes refuses fails, and keeps the lock",
      async run() {
        await open("broken", { "apps/workload/deployment.yaml": deployment(name("workload"), { replicas: -1 }) });
        mustHold(await talk.comment(the("broken"), "svc sync"), "❌", "must be greater than or equal to 0");
        state("broken", "open");
        const changed = deployment(name("workload"), { minReadySeconds: 2 });
        const answer = await open("waits", { "apps/workload/deployment.yaml": changed }, "bo");
        mustHold(answer, `Locked by PR #${the("broken")} (ana)`);
        await talk.close(the("waits"));
      },
    },
    {
      name: "corrected, it is deployed, gets healthy and is merged",
      async run() {
        const corrected = deployment(name("workload"), { minReadySeconds: 1 });
        await talk.push(the("broken"), { "apps/workload/deployment.yaml": corrected });
        mustHold(await talk.comment(the("broken"), "svc sync"), "**Health:** `Healthy`");
        state("broken", "merged");
      },
    },
  ];

  const auto: Chain = [
    {
      name: "an application with auto-sync is refused",
      async run() {
        await open("auto", { "apps/auto/settings.yaml": configMap(name("auto"), "two") });
        const answer = await talk.comment(the("auto"), "svc sync");
        mustHold(answer, `Application ${name("auto")} has auto-sync enabled.`);
        mustBe("the live value", await liveValue("auto"), "one");
        await talk.close(the("auto"));
      },
    },
  ];

  const fresh: Chain = [
    {
      name: "a new application shows what it would create, and leaves nothing in Argo CD",
      async run() {
        const files = { ...definition(setting, "new"), "apps/new/settings.yaml": configMap(name("new"), "one") };
        const answer = await open("new", files);
        mustHold(answer, `\`${name("new")}\` (new)`, "**Creates:** 1 resource", "+  value: one");
        // Lists lag a little behind.
        const look = async () => ((await own.named(`${LABELS.temporary}=true`)).length === 0 ? true : undefined);
        await waitFor(look, "svc's temporary Application was not removed", NOTICED_MS, own.waiting);
        await talk.close(the("new"));
      },
    },
  ];

  return [deploys, overlay, sources, workload, auto, fresh];
}

function resultOf({ status }: SeenApplication): {
  readonly revision?: string;
  readonly revisions?: readonly string[] | null;
} {
  return status?.operationState?.syncResult ?? {};
}
