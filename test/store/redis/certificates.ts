import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

/** Files of one certificate for 127.0.0.1, and the text of the authority that signed it. */
export interface Certificates {
  readonly authority: string;
  readonly authorityFile: string;
  readonly certificateFile: string;
  readonly keyFile: string;
  remove(): Promise<void>;
}

/** Created by openssl for this test. */
export async function makeCertificates(): Promise<Certificates> {
  const folder = await mkdtemp(join(tmpdir(), "svc-certificates-"));
  const path = (name: string) => join(folder, name);
  const openssl = (...args: readonly string[]) => run("openssl", args, { cwd: folder });
  const key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
  await openssl(
    "req",
    "-x509",
    ...key,
    "-keyout",
    "ca.key",
    "-out",
    "ca.pem",
    "-days",
    "2",
    "-subj",
    "/CN=test authority",
  );
  await openssl("req", ...key, "-keyout", "server.key", "-out", "server.csr", "-subj", "/CN=redis");
  await writeFile(path("names.cnf"), "subjectAltName = IP:127.0.0.1\n");
  const signing = ["-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-extfile", "names.cnf", "-days", "2"];
  await openssl("x509", "-req", "-in", "server.csr", "-out", "server.pem", ...signing);
  return {
    authority: await readFile(path("ca.pem"), "utf8"),
    authorityFile: path("ca.pem"),
    certificateFile: path("server.pem"),
    keyFile: path("server.key"),
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}

/** Settings of a server, or of a Sentinel, that takes TLS only and speaks it with the others as well. */
export function tlsOnly(port: number, { authorityFile, certificateFile, keyFile }: Certificates) {
  return {
    port: "0",
    "tls-port": String(port),
    "tls-cert-file": certificateFile,
    "tls-key-file": keyFile,
    "tls-ca-cert-file": authorityFile,
    "tls-auth-clients": "no",
    "tls-replication": "yes",
  } as const;
}
