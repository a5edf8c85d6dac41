import type { CommandContext } from "../ports/context.js";

/** What `-a label:<key>=<value>` selects by. */
export interface LabelSelector {
  readonly key: string;
  readonly value: string;
}

/** The labels of an application, as Argo CD has them; undefined if it does not list it. */
export type LabelsOf = (name: string) => Readonly<Record<string, string>> | undefined;

const PREFIX = "label:";

/** https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#syntax-and-character-set; a value is required here. */
const DOMAIN = /^[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?$/;
const WORD = /^[A-Za-z0-9](?:[A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?$/;

/** Undefined if a text is no `label:<key>=<value>` of what Kubernetes allows in labels. */
export function readLabelSelector(text: string): LabelSelector | undefined {
  if (!text.startsWith(PREFIX)) return undefined;
  const [key = "", value = "", ...more] = text.slice(PREFIX.length).split("=");
  const parts = key.split("/");
  const [name = "", domain = "x"] = [parts.pop(), parts.pop()];
  const valid = more.length === 0 && parts.length === 0 && DOMAIN.test(domain) && WORD.test(name) && WORD.test(value);
  return valid ? { key, value } : undefined;
}

/** `label:team=shop` for `team=shop`, and itself for a selector; undefined for anything else. */
export function selectorMeant(text: string): string | undefined {
  return [text, `${PREFIX}${text}`].find((one) => readLabelSelector(one) !== undefined);
}

/**
 * The labels that a command selects by, read now and from Argo CD alone: those in a repository are what a change request
 * makes them. A command without a label costs no call.
 */
export async function labelsFor(
  { applications }: { readonly applications: readonly string[] },
  { deployer, clock, signal }: Pick<CommandContext, "deployer" | "clock" | "signal">,
): Promise<LabelsOf> {
  if (!applications.some((one) => readLabelSelector(one) !== undefined)) return () => undefined;
  const listed = await deployer.listApplications(signal, clock.now());
  const labels = new Map<string, Readonly<Record<string, string>>>(listed.map((one) => [one.name, one.labels]));
  return (name) => labels.get(name);
}
