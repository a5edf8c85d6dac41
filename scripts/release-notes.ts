/**
 * What CHANGELOG.md says of a version, without its heading.
 * @throws {Error} if there is no such section, or nothing in it.
 */
export function releaseNotes(changelog: string, version: string): string {
  const sections = changelog.split(/^## /m).slice(1);
  const section = sections.find((each) => /^\[?([^\]\s]+)/.exec(each)?.[1] === version);
  const notes = section?.slice(section.indexOf("\n")).trim() ?? "";
  if (notes === "") throw new Error(`CHANGELOG.md: there is no section "## ${version}", or nothing in it`);
  return `${notes}\n`;
}
