import { rootCertificates } from "node:tls";
import { checkFiles } from "../../src/config/check.js";
import { rsaKey } from "../config/rsa-key.js";
import type { KubernetesObject } from "./kubernetes-objects.js";
import { configText, only } from "./rendering.js";

const PRIVATE_KEY = rsaKey();

/** What `svc check` says of the ConfigMap's svc.yaml in the pod: with the pod's variables and files, and no others. */
export function checkInPod(objects: readonly KubernetesObject[]) {
  const variables = only(objects, "Deployment").spec.template.spec.containers[0].env ?? [];
  return checkWith(
    variables.map(({ name }) => name),
    configText(objects),
  );
}

/** What `svc check` says of a svc.yaml where these variables have values that fit. */
export function checkWith(variables: readonly string[], text: string) {
  const environment = Object.fromEntries(variables.map((name) => [name, valueOf(name)]));
  return checkFiles([{ name: "svc.yaml", text }], environment, readPodFile);
}

function valueOf(variable: string): string {
  if (variable.endsWith("_URL")) return "https://chat.example.org/hook?sig=x";
  if (/^(?:RECORDS|NOTIFICATION)_SECRET$/.test(variable)) return `whsec_${Buffer.alloc(32, "k").toString("base64")}`;
  return variable.includes("PRIVATE_KEY") ? PRIVATE_KEY : `${variable}-${"0123456789abcdef".repeat(4)}`;
}

function readPodFile(path: string): string {
  if (path === "/etc/svc-files/key") return PRIVATE_KEY;
  if (path === "/etc/svc-files/ca") return rootCertificates[0] ?? "";
  throw new Error(`${path} is no file of the pod`);
}
