import { invalid, quoted } from "./api-error.js";
import type { Controller } from "./controller/controller.js";
import { projectFor } from "./find-application.js";
import { permitsDestination, permitsRepository } from "./projects.js";
import { SourceFailure } from "./render/renderer.js";
import { sourcesOf, type Application } from "./resource.js";
import type { World } from "./world.js";

const inCluster = "https://kubernetes.default.svc";

/** The API server's checks before it stores a spec, optionally with rendering. @throws {ApiError} code 3 */
export async function validateSpec(
  world: World,
  controller: Controller,
  application: Application,
  withRendering: boolean,
): Promise<void> {
  const { metadata, spec } = application;
  const project = projectFor(world, world.projectOf(spec), metadata.namespace);
  const server = destinationServer(application);
  const problems: string[] = [];
  for (const { repoURL } of sourcesOf(spec)) {
    if (!permitsRepository(project, repoURL)) {
      problems.push(`application repo ${repoURL} is not permitted in project '${project.name}'`);
    }
  }
  const namespace = spec.destination.namespace ?? "";
  if (!permitsDestination(project, server, namespace)) {
    problems.push(
      `application destination server '${server}' and namespace '${namespace}' do not match any of the allowed destinations in project '${project.name}'`,
    );
  }
  for (const source of sourcesOf(spec)) {
    const complete =
      source.repoURL !== "" && (source.path !== undefined || source.chart !== undefined || source.ref !== undefined);
    if (!complete) {
      problems.push("spec.source.repoURL and either source.path, source.chart, or source.ref are required");
    }
  }
  if (problems.length === 0 && withRendering) {
    problems.push(...(await renderingProblems(world, controller, application)));
  }
  if (problems.length === 0) return;
  const listed = problems.map((problem) => `InvalidSpecError: ${problem}`).join(";");
  throw invalid(`application spec for ${metadata.name} is invalid: ${listed}`);
}

function destinationServer({ metadata, spec }: Application): string {
  const { name = "", server = "" } = spec.destination;
  const refuse = (reason: string): Error =>
    invalid(`application destination spec for ${metadata.name} is invalid: ${reason}`);
  if (name !== "" && server !== "") {
    throw refuse(`application destination can't have both name and server defined: ${name} ${server}`);
  }
  if (name === "" && server === "") throw refuse("destination server missing from app spec");
  if (name !== "" && name !== "in-cluster") {
    throw refuse(`unable to find destination server: there are no clusters with this name: ${name}`);
  }
  return server === "" ? inCluster : server;
}

async function renderingProblems(world: World, controller: Controller, application: Application): Promise<string[]> {
  const sources = sourcesOf(application.spec);
  try {
    await world.renderer.render(controller.rendered(application), await world.renderer.resolve(sources));
    return [];
  } catch (error) {
    if (!(error instanceof SourceFailure)) throw error;
    const path = sources[error.position - 1]?.path ?? "";
    return [`Unable to generate manifests in ${path}: ${quoted(error.cause)}`];
  }
}
