import { type Bot, REPOSITORY } from "./bot.js";

/** Resolves when Argo CD has answered a request with this method and end of its path. */
export function answered(bot: Bot, wanted: string, end: string): Promise<void> {
  return new Promise((resolve) => {
    const stop = bot.argocd.onExchange(({ method, path }) => {
      if (method !== wanted || !path.endsWith(end)) return;
      stop();
      resolve();
    });
  });
}

/** Resolves when Argo CD was asked to sync this application. */
export function syncAsked(bot: Bot, application: string): Promise<void> {
  return answered(bot, "POST", `/${application}/sync`);
}

/** Begins a plan of an application that does not end before the returned function is called: no render is answered. */
export async function beginPlan(bot: Bot, number: number, application: string): Promise<() => void> {
  const release = bot.argocd.holdRenders();
  const begun = answered(bot, "GET", `/applications/${application}`);
  await bot.forge.comment(REPOSITORY, number, "ana", "svc plan");
  await begun;
  return release;
}
