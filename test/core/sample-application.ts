import type { Application, ApplicationSpec } from "../../src/core/model/application.js";
import { applicationName } from "../../src/core/model/brand.js";

/** An Application `web`, or `team/web`, of the project `default`. */
export function sampleApplication(name: string, spec: ApplicationSpec, more: Partial<Application> = {}): Application {
  return {
    name: applicationName(name),
    resourceName: name.split("/").at(-1) ?? name,
    namespace: undefined,
    project: "default",
    labels: {},
    annotations: {},
    spec,
    ...more,
  };
}
