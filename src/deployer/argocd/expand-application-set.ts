import type { Application, ApplicationSet } from "../../core/model/application.js";
import { isJsonObject } from "../../core/model/json.js";
import { generatedList } from "./application-schema.js";
import { ArgoCdFailure } from "./argocd-failure.js";
import type { Client } from "./client.js";
import { parseAnswer } from "./parse-answer.js";
import type { ServerSettings } from "./server-settings.js";
import { toApplication } from "./to-application.js";

/** The call renders nothing and writes nothing, but Argo CD asks for the permission to create the set. */
export async function expandApplicationSet(
  client: Client,
  settings: ServerSettings,
  set: ApplicationSet,
  options: { readonly timeoutMs: number; readonly signal: AbortSignal | undefined },
): Promise<readonly Application[]> {
  const answer = await generate(client, set, options);
  const { applications } = parseAnswer(generatedList, answer, `the ApplicationSet ${set.name}`);
  return (applications ?? []).map((item) => {
    const namespace = item.metadata.namespace ?? set.namespace;
    return toApplication({ ...item, metadata: { ...item.metadata, namespace } }, settings);
  });
}

async function generate(
  client: Client,
  set: ApplicationSet,
  options: { readonly timeoutMs: number; readonly signal: AbortSignal | undefined },
): Promise<unknown> {
  const metadata = isJsonObject(set.resource.metadata) ? set.resource.metadata : { name: set.name };
  try {
    return await client.call({
      method: "POST",
      path: ["api", "v1", "applicationsets", "generate"],
      body: { applicationSet: { metadata, spec: set.resource.spec } },
      permission: "applicationsets, create",
      repeatable: true,
      ...options,
    });
  } catch (error) {
    if (!(error instanceof ArgoCdFailure)) throw error;
    // Lines of the server's own log follow the first one.
    const [line = ""] = error.message.split("\n", 1);
    // What was not found is a repository or a file that a generator reads.
    const reason = error.reason === "not-found" ? "failed" : error.reason;
    throw new ArgoCdFailure(reason, line, { code: error.code, cause: error });
  }
}
