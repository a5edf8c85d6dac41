import { matchesName } from "../../config/pattern.js";
import { SERVER_FILE } from "../../names.js";
import type { ApplicationName } from "../model/brand.js";
import type { ChangeRequest } from "../model/change-request.js";
import type { Member } from "../model/effect.js";
import { listed } from "../model/host-words.js";
import type { Settings } from "../model/settings.js";
import { meansRepository } from "./driving-right.js";

/** Whose right to introduce applications is asked. */
export interface ProjectClaim {
  readonly change: Pick<ChangeRequest, "host" | "repository" | "repositoryUrls">;
  readonly settings: Pick<Settings, "projectRepositories" | "namesNeedHost">;
}

const MOST_NAMED = 5;

/** Why a change request may not bring an application into this project, as a clause about it; undefined if it may. */
export function projectObstacle(project: string, claim: ProjectClaim): string | undefined {
  const closed = closedProjects(claim).find((one) => one.project === project);
  if (closed === undefined) return undefined;
  const may = closed.repositories.length === 0 ? "no repository" : `only ${listed(closed.repositories, MOST_NAMED)}`;
  return (
    `it would come into the project ${project}, into which ${may} may introduce applications. ` +
    `${SERVER_FILE} says so under projects: ask an administrator of svc to list ${claim.change.repository} there, or take it out`
  );
}

/** The first obstacle to what a deployment brings into projects; a clause about the application itself. */
export function introducing(
  { application, members }: { readonly application: ApplicationName; readonly members: readonly Member[] },
  claim: ProjectClaim,
): string | undefined {
  for (const member of members) {
    const obstacle = memberObstacle(member, claim);
    if (obstacle === undefined) continue;
    return member.application === application ? obstacle : `it brings ${member.application}, and ${obstacle}`;
  }
  return undefined;
}

/** Why one application of an effect may not come into its project. What svc cannot tell counts as coming into a project of others. */
function memberObstacle(member: Member, claim: ProjectClaim): string | undefined {
  const { definition, project, sources } = member;
  switch (definition.kind) {
    case "removed":
    case "unchanged":
      return undefined;
    case "new":
      return projectObstacle(project, claim);
    case "changed": {
      const move = definition.moves.find(({ what }) => what === "project");
      return move && projectObstacle(move.to, claim);
    }
    case "unknown": {
      if (sources.length > 0) return projectObstacle(project, claim);
      const names = closedProjects(claim).map((one) => one.project);
      if (names.length === 0) return undefined;
      return (
        `svc cannot tell into which project it would come, and this repository may introduce no applications into ` +
        `${listed(names, MOST_NAMED)}: ${SERVER_FILE} says so under projects`
      );
    }
  }
}

function closedProjects({ change, settings }: ProjectClaim): ProjectClaim["settings"]["projectRepositories"] {
  return settings.projectRepositories.filter(
    ({ repositories }) =>
      !repositories.some((text) =>
        meansRepository(text, change, settings.namesNeedHost, (name) => matchesName(name, change.repository)),
      ),
  );
}
