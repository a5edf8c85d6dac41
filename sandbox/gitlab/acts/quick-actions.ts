/** Names of https://docs.gitlab.com/user/project/quick_actions/ that work on merge requests or issues. */
const names = new Set(
  `add_contacts add_email approve assign assign_reviewer award award_emoji blocked_by blocks board_move cc checkin_reminder
  child_of clear_health_status clear_weight clone close confidential convert_to_ticket copy_metadata create_merge_request
  done draft due duplicate epic estimate estimate_time health_status invite_email iteration label labels link lock merge
  milestone move page parent promote promote_to promote_to_incident publish q react ready reassign reassign_reviewer rebase
  relabel relate remove_child remove_child_epic remove_contacts remove_due_date remove_email remove_epic
  remove_estimate remove_iteration remove_label remove_milestone remove_parent remove_parent_epic remove_time_estimate
  remove_time_spent remove_zoom reopen request_changes request_review run_pipeline set_parent severity ship shrug spend
  spend_time spent status subscribe submit_review tableflip target_branch timeline title todo type unapprove unassign
  unassign_reviewer unlabel unlink unlock unsubscribe wip weight zoom`.split(/\s+/),
);

/**
 * Quick actions that a note would run: lines outside code that begin with a slash and a known name. Code is found both
 * by CommonMark's fences and by GitLab's older extractor, which ends a code block at the first line of exactly three
 * backticks, even inside a longer fence (`lib/gitlab/quick_actions/extractor.rb`). An action that either would run is
 * reported.
 */
export function findQuickActions(body: string): string[] {
  const lines = body.split(/\r\n|\r|\n/);
  const shielded = [commonMarkCode(lines), extractorCode(lines)];
  return lines.flatMap((line, at) => {
    const name = /^\/([a-z_]+)(?=\s|$)/i.exec(line)?.[1]?.toLowerCase();
    if (name === undefined || !names.has(name)) return [];
    return shielded.every((code) => code.has(at)) ? [] : [name];
  });
}

/** Line numbers inside code fences by CommonMark: closed by a fence of the same character, at least as long. */
function commonMarkCode(lines: readonly string[]): Set<number> {
  const code = new Set<number>();
  let fence: string | undefined;
  lines.forEach((line, at) => {
    const [, marks = "", rest = ""] = /^ {0,3}(`{3,}|~{3,})(.*)$/.exec(line) ?? [];
    if (fence !== undefined) {
      code.add(at);
      if (marks.startsWith(fence) && rest.trim() === "") fence = undefined;
    } else if (marks.startsWith("~") || (marks !== "" && !rest.includes("`"))) {
      fence = marks;
    }
  });
  return code;
}

/** Line numbers inside code by the older extractor; a block without an end is no code. */
function extractorCode(lines: readonly string[]): Set<number> {
  const code = new Set<number>();
  for (let at = 0; at < lines.length; at += 1) {
    if (lines[at]?.startsWith("```") !== true) continue;
    const end = lines.findIndex((line, later) => later > at && line === "```");
    if (end < 0) continue;
    for (let inside = at + 1; inside <= end; inside += 1) code.add(inside);
    at = end;
  }
  return code;
}
