/**
 * What CHANGELOG.md says of a version, without its heading.
 * @throws {Error} if there is no such section, or nothing in it.
 */
export function releaseNotes(changelog: string, version: string): string {
  const notes = sectionOf(changelog, version);
  if (notes === "") throw new Error(`CHANGELOG.md: there is no section "## ${version}", or nothing in it`);
  return `${notes}\n`;
}

/**
 * What a release of the current source would say: the unreleased notes or, while there are none, those of `version`.
 * @throws {Error} if there are neither.
 */
export function comingNotes(changelog: string, version: string): string {
  return releaseNotes(changelog, sectionOf(changelog, "Unreleased") === "" ? version : "Unreleased");
}

/** Notes that can stand anywhere: their links into the repository begin with `base`, the address of its files. */
export function withAbsoluteLinks(notes: string, base: string): string {
  return notes.replace(/\]\((?![a-z]+:|#)/g, `](${base}/`);
}

function sectionOf(changelog: string, version: string): string {
  const sections = changelog.split(/^## /m).slice(1);
  const section = sections.find((each) => /^\[?([^\]\s]+)/.exec(each)?.[1] === version);
  return section?.slice(section.indexOf("\n")).trim() ?? "";
}
