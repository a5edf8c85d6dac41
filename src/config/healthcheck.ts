/**
 * Health check of the image: `node dist/healthcheck.js svc.yaml` exits with 0 if the configured service answers. Runs
 * every half minute, so it reads only the port.
 */
import { readFileSync } from "node:fs";
import { parse } from "yaml";

const DEFAULT_PORT = "4141";

const [, , file = ""] = process.argv;
const answer = await fetch(`http://127.0.0.1:${portIn(file)}/health`).catch(() => undefined);
process.exitCode = answer?.ok === true ? 0 : 1;

/** Falls back to the default port: if the file is broken, the service itself reports why. */
function portIn(name: string): string {
  try {
    const { server } = parse(readFileSync(name, "utf8")) as { readonly server?: { readonly port?: unknown } };
    const port =
      typeof server?.port === "string" || typeof server?.port === "number" ? String(server.port) : DEFAULT_PORT;
    return port.replace(/\$\{(.+)\}/, (_, variable: string) => process.env[variable] ?? "");
  } catch {
    return DEFAULT_PORT;
  }
}
