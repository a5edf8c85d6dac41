/**
 * Health check of the image: `node dist/healthcheck.js svc.yaml` exits with 0 if the service answers at its
 * configured address. It runs every half minute, so it reads nothing else from the file.
 */
import { readFileSync } from "node:fs";
import { parse } from "yaml";

const DEFAULT_PORT = "4141";

const [, , file = ""] = process.argv;
const answer = await fetch(`http://${addressIn(file)}/health`).catch(() => undefined);
process.exitCode = answer?.ok === true ? 0 : 1;

/** Falls back to the defaults: if the file is broken, the service itself reports why. */
function addressIn(name: string): string {
  try {
    const { server } = parse(readFileSync(name, "utf8")) as { readonly server?: Partial<Record<string, unknown>> };
    const host = textOf(server?.host, "0.0.0.0").replace(/^(?:0\.0\.0\.0|::)$/, "127.0.0.1");
    return `${host.includes(":") ? `[${host}]` : host}:${textOf(server?.port, DEFAULT_PORT)}`;
  } catch {
    return `127.0.0.1:${DEFAULT_PORT}`;
  }
}

function textOf(value: unknown, otherwise: string): string {
  const text = typeof value === "string" || typeof value === "number" ? String(value) : otherwise;
  return text.replace(/\$\{(.+)\}/, (_, variable: string) => process.env[variable] ?? "");
}
