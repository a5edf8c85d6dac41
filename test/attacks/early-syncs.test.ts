import { describe, expect, test } from "@jest/globals";
import { HOSTS, startBot } from "../scenarios/bot.js";
import { changeOf } from "../scenarios/resources.js";

/** More applications than a plan waits for. */
const MANY = Array.from({ length: 9 }, (_, at) => `app-${at + 1}`);

describe.each(HOSTS)("while Kubernetes is asked about a plan on %s", (host) => {
  test("a sync between a plan and Kubernetes' answer deploys nothing before that, needs its approval all the same, and turns nothing green", async () => {
    const bot = await startBot({
      host,
      applications: MANY,
      config: {
        deployer: { server_dry_run: "auto", diff_mode: "branch" },
        defaults: { require_approval: true },
        [host]: { commit_status: true },
      },
    });
    for (const name of MANY) await bot.argocd.deploy(name);
    bot.argocd.addAdmissionRule(() => 'admission webhook "policy.example.com" denied the request: no');
    const seen: { changes: readonly string[]; answers: number }[] = [];
    bot.whileAsked(async () => {
      await bot.forge.comment(bot.repository, 1, "ana", "<!-- svc:plan head=x -->\n## svc Plan\n\nasking Kubernetes…");
      await bot.forge.comment(bot.repository, 1, "ana", "svc sync");
      await bot.forge.idle();
      seen.push({ changes: bot.changes(), answers: bot.answers(1).length });
    });
    const one = await bot.open(changeOf(MANY));
    expect(seen).toEqual([{ changes: [], answers: 1 }]);
    expect(bot.changes()).toEqual([]);
    expect(bot.answers(one)).toHaveLength(2);
    expect(bot.answers(one)[0]).toContain("Kubernetes will refuse");
    expect(bot.answers(one)[0]).not.toContain("asking Kubernetes…");
    expect(bot.lastComment(one)).toMatch(/approv/);
    const states = bot.forge.statuses(bot.repository, bot.seen(one).headRevision).map(({ state }) => state);
    expect(states).not.toContain("success");
    expect(bot.seen(one).comments.map(({ body }) => body)).toContain(
      "<!-- svc:plan head=x -->\n## svc Plan\n\nasking Kubernetes…",
    );
  });
});
