import { stringify } from "yaml";
import type { Environment } from "../config/environment.js";
import type { Clock } from "../core/ports/clock.js";
import { SERVER_FILE, SERVICE, type HostId } from "../names.js";

/** What setup needs of the process. */
export interface SetupParts {
  readonly env: Environment;
  /** Everything that standard input holds. */
  readonly stdin: () => Promise<string>;
  /** Shows lines at once. */
  readonly print: (lines: readonly string[]) => void;
  readonly clock: Clock;
}

/** A section of the configuration, ready to be copied. */
export function sectionLines(host: HostId, section: Readonly<Record<string, string | number>>): readonly string[] {
  const text = stringify({ [host]: section }, { lineWidth: 0 });
  return [
    "",
    `This goes into ${SERVER_FILE}, or into config of the chart's values:`,
    "",
    ...text.trimEnd().split("\n"),
  ];
}

/** What to do after setup. */
export function nextSteps(steps: readonly string[], secrets: string): readonly string[] {
  const all = [
    ...steps,
    `Set a variable for each file in ${secrets}/, or make the Secret of the chart: kubectl -n ${SERVICE} create secret generic ${SERVICE} --from-file=${secrets}/`,
    `Check that everything works together: ${SERVICE} check --online ${SERVER_FILE}`,
  ];
  return ["", "Next:", ...all.map((step, index) => `${index + 1}. ${step}`)];
}

/** Setup cannot go on. The message is for the operator and says what to do. */
export class SetupRefused extends Error {
  override readonly name = "SetupRefused";
  /** Another try of the same setup cannot succeed. */
  readonly final: boolean;

  constructor(message: string, { final = false }: { readonly final?: boolean } = {}) {
    super(message);
    this.final = final;
  }
}
