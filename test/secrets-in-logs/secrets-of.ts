import { parseAllDocuments } from "yaml";
import { z } from "zod";
import type { FileChanges } from "../../sandbox/forge.js";
import { keepsLogs, registerSecret } from "./kept-logs.js";

const SECRET_KEY = /(?:token|password|secret|private_key)$/;
/** The path of such an address is its secret. Without one it names a port alone, which another server of the run gets later. */
const SECRET_ADDRESS = /^notifications\.\d+\.url$/;

/** Registers every secret of a server's configuration, wherever it stands; its key is its name. */
export function registerSecretFields(config: unknown, path = ""): void {
  if (typeof config === "string") {
    const secret = SECRET_KEY.test(path) || (SECRET_ADDRESS.test(path) && new URL(config).pathname !== "/");
    if (secret) registerSecret(path, config);
  } else if (typeof config === "object" && config !== null) {
    for (const [key, value] of Object.entries(config)) {
      registerSecretFields(value, path === "" ? key : `${path}.${key}`);
    }
  }
}

const secretObject = z.object({
  kind: z.literal("Secret"),
  stringData: z.record(z.string(), z.unknown()).nullish(),
  data: z.record(z.string(), z.unknown()).nullish(),
});

/** Registers the values of Kubernetes Secrets in the files of a commit; files that cannot be read have none. */
export function registerSecretObjects(files: FileChanges): void {
  if (!keepsLogs()) return;
  for (const content of Object.values(files)) {
    if (typeof content !== "string" || !/kind:\s*["']?Secret\b/.test(content)) continue;
    for (const document of parseAllDocuments(content)) {
      if (document.errors.length > 0) continue;
      const { data } = secretObject.safeParse(document.toJS());
      for (const value of texts(data?.stringData)) registerSecret("value of a Secret", value);
      for (const value of texts(data?.data)) {
        registerSecret("value of a Secret", Buffer.from(value, "base64").toString());
      }
    }
  }
}

/** Registers what requests to a code host carried: tokens of installations, of Apps, and git's passwords. */
export function registerAuthorizations(requests: readonly { readonly authorization: string | undefined }[]): void {
  for (const header of new Set(requests.map(({ authorization }) => authorization))) {
    const [scheme = "", credentials = ""] = header?.split(" ") ?? [];
    const basic = scheme.toLowerCase() === "basic";
    const decoded = basic ? (Buffer.from(credentials, "base64").toString().split(":").at(-1) ?? "") : credentials;
    registerSecret("credentials of a request", decoded);
  }
}

function texts(record: Readonly<Record<string, unknown>> | null | undefined): readonly string[] {
  return Object.values(record ?? {}).filter((value) => typeof value === "string");
}
