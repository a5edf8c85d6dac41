/**
 * The image's health check: `node dist/healthcheck.js svc.yaml` ends with 0 if the service that the file configures answers.
 * It runs every half minute, so it loads no more of the configuration than it needs.
 */
import { readFileSync } from "node:fs";
import { parse } from "yaml";

const DEFAULT_PORT = "4141";

const [, , file = ""] = process.argv;
const answer = await fetch(`http://127.0.0.1:${portIn(file)}/health`).catch(() => undefined);
process.exitCode = answer?.ok === true ? 0 : 1;

/** The default if the file cannot be read or names none: then the service says why, or listens there. */
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
