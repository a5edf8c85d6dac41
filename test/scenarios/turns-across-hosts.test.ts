import { expect, test } from "@jest/globals";
import type { HostId } from "../../src/names.js";
import { refOn, startTwoHosts } from "../attacks/two-hosts.js";
import { HOSTS, REPOSITORY } from "./bot.js";
import { changeOf } from "./resources.js";

const SIGIL: Readonly<Record<HostId, string>> = { hosta: "#", hostb: "!" };

test.each(HOSTS)(
  "an application with sources on both hosts, locked from %s: the other host's waits, and has its turn",
  async (owner) => {
    const other = owner === "hosta" ? "hostb" : "hosta";
    const both = await startTwoHosts(owner, { shared: true });
    const first = await both.forges[owner].open({ repository: REPOSITORY, by: "ana", changes: changeOf(["web"]) });
    await both.idle();
    const second = await both.forges[other].open({ repository: REPOSITORY, by: "bo", changes: changeOf(["more"]) });
    await both.idle();
    const holder = `${REPOSITORY}${SIGIL[owner]}${first}`;
    const plan = both.lastComment(other, second);
    expect(plan).toContain(`(ana)](<${both.forges[owner].url}/${REPOSITORY}/`);
    expect(plan).toContain(`>) of \`${holder}\` on ${owner === "hosta" ? "GitHub" : "GitLab"}. This`);
    expect(plan).toContain("is next in the queue");
    await both.forges[owner].comment(REPOSITORY, first, "ana", "svc unlock");
    await both.idle();
    const next = `[${REPOSITORY}${SIGIL[other]}${second}](<${both.forges[other].url}/`;
    expect(both.lastComment(owner, first)).toContain(`Next in the queue: ${next}`);
    expect(both.lastComment(other, second)).toContain(
      `**Your turn:** \`web\` is no longer locked by [${holder}](<${both.forges[owner].url}/`,
    );
    expect(await both.locked(refOn(other, second))).toEqual(["web"]);
  },
);
