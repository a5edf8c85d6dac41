import { NO_FILE } from "../config/repository/repository-schema.js";
import { namesHost, withEachHost } from "../config/repository-names.js";
import { resolveSettings } from "../config/rules/settings.js";
import type { ServerConfig } from "../config/server/server.js";
import { type Application, destinationOf, projectOf } from "../core/model/application.js";
import { groupedBy } from "../core/model/collections.js";
import { listed } from "../core/model/host-words.js";
import type { AccessRule, Settings } from "../core/model/settings.js";
import { ANNOTATION_REPOSITORY, HOST_IDS } from "../names.js";

const MOST_NAMED = 5;

/**
 * What the server's rules and annotations say of the applications that run and nobody can have meant: names of repositories
 * that may be on either host, and lists that together allow nobody. Rules of repositories' files, and members of teams, are
 * not known here.
 */
export function checkRules(applications: readonly Application[], config: ServerConfig): readonly string[] {
  const hosts = HOST_IDS.filter((id) => config[id] !== undefined);
  return [
    ...(hosts.length > 1 ? applications.flatMap((one) => annotationWithoutHost(one)) : []),
    ...hosts.flatMap((host) => {
      const file = { file: NO_FILE, earlier: undefined };
      const files = { base: file, defaultBranch: undefined, head: NO_FILE, changed: false };
      return unmet(applications, resolveSettings(config.defaults, config, files, host).settings);
    }),
  ].filter((line, index, all) => all.indexOf(line) === index);
}

function annotationWithoutHost({ name, annotations }: Application): readonly string[] {
  const named = annotations[ANNOTATION_REPOSITORY]?.trim();
  if (named === undefined || namesHost(named)) return [];
  return [
    `${name}: the annotation ${ANNOTATION_REPOSITORY} names no host, so it gives no right: write ${withEachHost(HOST_IDS, named)}`,
  ];
}

/** The rules of all applications that deploy to a namespace hold for each of them. */
function unmet(applications: readonly Application[], settings: Pick<Settings, "accessTo">): readonly string[] {
  const places = groupedBy(applications, ({ spec }) => {
    const { cluster, namespace } = destinationOf(spec);
    return `the namespace ${namespace} of ${cluster}`;
  });
  return [...places].flatMap(([place, some]) => {
    const rules = some.flatMap(({ name, spec }) => {
      const { cluster, namespace } = destinationOf(spec);
      return settings.accessTo({ name, project: projectOf(spec), cluster, namespaces: [namespace] }, "sync");
    });
    if (!allowNobody(rules)) return [];
    const names = listed(
      some.map(({ name }) => name),
      MOST_NAMED,
    );
    return [
      `sync_requirements: nobody may sync what deploys to ${place} (${names}): no person is in all lists that hold there`,
    ];
  });
}

function allowNobody(rules: readonly AccessRule[]): boolean {
  const people = rules
    .filter(({ teams }) => teams.length === 0)
    .map(({ users }) => users.map((one) => one.toLowerCase()));
  const [first, ...others] = people;
  return first !== undefined && others.length > 0 && !first.some((one) => others.every((list) => list.includes(one)));
}
