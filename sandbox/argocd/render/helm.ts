import { isObject, type JsonObject } from "../json.js";
import type { Manifest } from "../manifest.js";
import type { Source } from "../resource.js";
import { executeTemplate } from "../template.js";
import { readYaml } from "../yaml.js";
import type { Rendered } from "./build-environment.js";
import type { Checkout } from "./checkout.js";
import { helmFailure, helmValues, type References } from "./helm-values.js";
import { isInside } from "./paths.js";
import { readObjects } from "./yaml-documents.js";

/**
 * A small part of Helm: a chart's own templates, without dependencies, with values from every place where an
 * Application can set them. The release has the application's name unless the source names it.
 */
export async function renderHelm(
  checkout: Checkout,
  source: Source,
  rendered: Rendered,
  references: References,
  environment: ReadonlyMap<string, string>,
): Promise<Manifest[]> {
  const release = source.helm?.releaseName ?? rendered.name;
  const inChart = (path: string): string => (checkout.path === "" ? path : `${checkout.path}/${path}`);
  const chart: unknown = readYaml((await checkout.text(inChart("Chart.yaml"))) ?? "");
  if (!isObject(chart)) throw helmFailure(release, "Chart.yaml file is missing");
  const values = await helmValues(checkout, source, references, environment, release);
  const data: JsonObject = {
    Values: values,
    Release: {
      Name: release,
      Namespace: source.helm?.namespace ?? rendered.namespace,
      Service: "Helm",
      IsInstall: true,
      IsUpgrade: false,
      Revision: 1,
    },
    Chart: Object.fromEntries(
      Object.entries(chart).map(([key, value]) => [key.charAt(0).toUpperCase() + key.slice(1), value]),
    ),
    Capabilities: { KubeVersion: { Version: source.helm?.kubeVersion ?? "v1.34.0" } },
  };
  const folders = [inChart("templates"), ...(source.helm?.skipCrds === true ? [] : [inChart("crds")])];
  const paths = checkout.files().filter((path) => folders.some((folder) => isInside(folder, path)));
  const texts = await checkout.read(paths);
  const chartName = typeof chart.name === "string" ? chart.name : "chart";
  return paths
    .filter((path) => /\.ya?ml$/.test(path))
    .flatMap((path) => {
      const name = `${chartName}/${path.slice(checkout.path === "" ? 0 : checkout.path.length + 1)}`;
      const text = texts.get(path) ?? "";
      try {
        const isTemplate = isInside(inChart("templates"), path);
        return readObjects(isTemplate ? executeTemplate(text, data, { name, absent: "" }) : text);
      } catch (error) {
        throw helmFailure(release, error instanceof Error ? error.message : "");
      }
    });
}
