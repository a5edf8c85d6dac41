import { stringify } from "yaml";
import { SERVER_FILE, SERVICE, type HostId } from "../names.js";

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
