import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { createServer as createProxy } from "node:http";
import { createServer } from "node:https";
import { connect } from "node:net";
import type { AddressInfo, Server } from "node:net";
import { join } from "node:path";
import { parse } from "yaml";
import { packageChart } from "../../scripts/release-chart.js";
import { runTool } from "./deploy-tool.js";

/** A registry under a name of the internet, on this machine. */
export interface ChartRegistry {
  /** With these variables, programs in Go reach it by its name, and nothing else by https. */
  readonly environment: Readonly<Record<string, string>>;
  readonly stop: () => void;
}

/**
 * Serves the packaged chart as `oci://<host>/<repository>`, as a registry does to Helm
 * (https://github.com/opencontainers/distribution-spec/blob/main/spec.md#pull). Keeps what it needs in `folder`.
 */
export async function serveChart(
  host: string,
  repository: string,
  version: string,
  folder: string,
): Promise<ChartRegistry> {
  const image = { repository: `${host}/acme/svc`, digest: `sha256:${"0123456789abcdef".repeat(4)}` };
  packageChart({ tag: `v${version}`, source: "https://github.com/acme/svc", pages: "/", image }, folder);
  const archive = join(folder, readdirSync(folder).find((name) => name.endsWith(".tgz")) ?? "");
  const { stdout } = runTool("helm", ["show", "chart", archive]);
  const config = blob("application/vnd.cncf.helm.config.v1+json", Buffer.from(JSON.stringify(parse(stdout))));
  const layer = blob("application/vnd.cncf.helm.chart.content.v1.tar+gzip", readFileSync(archive));
  const manifest = blob(
    "application/vnd.oci.image.manifest.v1+json",
    Buffer.from(
      JSON.stringify({
        schemaVersion: 2,
        mediaType: "application/vnd.oci.image.manifest.v1+json",
        config: config.descriptor,
        layers: [layer.descriptor],
      }),
    ),
  );
  const answers = new Map([
    [`/v2/${repository}/manifests/${version}`, manifest],
    ...[manifest, config, layer].flatMap((one) =>
      ["manifests", "blobs"].map((kind) => [`/v2/${repository}/${kind}/${one.descriptor.digest}`, one] as const),
    ),
  ]);
  const registry = createServer(certificate(host, folder), ({ url = "", method }, response) => {
    const answer = answers.get(url);
    if (answer === undefined) return response.writeHead(url === "/v2/" ? 200 : 404).end();
    const { mediaType, digest, size } = answer.descriptor;
    response.writeHead(200, {
      "content-type": mediaType,
      "docker-content-digest": digest,
      "content-length": size,
    });
    return response.end(method === "HEAD" ? undefined : answer.bytes);
  });
  const port = await listen(registry);
  const proxy = createProxy().on("connect", ({ url }, client) => {
    if (url !== `${host}:443`) return client.end("HTTP/1.1 403 Forbidden\r\n\r\n");
    const server = connect(port, "127.0.0.1", () => client.write("HTTP/1.1 200 OK\r\n\r\n"));
    server.on("error", () => client.destroy());
    client.on("error", () => server.destroy());
    return server.pipe(client).pipe(server);
  });
  return {
    environment: {
      HTTPS_PROXY: `http://127.0.0.1:${await listen(proxy)}`,
      SSL_CERT_FILE: join(folder, "registry.crt"),
    },
    stop: () => {
      proxy.close();
      registry.closeAllConnections();
      registry.close();
    },
  };
}

interface Blob {
  readonly descriptor: { readonly mediaType: string; readonly digest: string; readonly size: number };
  readonly bytes: Buffer;
}

function blob(mediaType: string, bytes: Buffer): Blob {
  const digest = `sha256:${createHash("sha256").update(bytes).digest("hex")}`;
  return { descriptor: { mediaType, digest, size: bytes.length }, bytes };
}

function certificate(host: string, folder: string): { readonly key: Buffer; readonly cert: Buffer } {
  const [key, cert] = [join(folder, "registry.key"), join(folder, "registry.crt")];
  execFileSync(
    "openssl",
    ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-keyout", key, "-out", cert].concat(
      ["-subj", `/CN=${host}`],
      ["-addext", `subjectAltName=DNS:${host}`],
    ),
    { stdio: "ignore" },
  );
  return { key: readFileSync(key), cert: readFileSync(cert) };
}

async function listen(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return (server.address() as AddressInfo).port;
}
