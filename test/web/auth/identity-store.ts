import type { Adapter, AdapterPayload } from "oidc-provider";

/** What an OpenID provider keeps, for as long as the test lasts. */
export function identityStore(): (model: string) => Adapter {
  const kept = new Map<string, AdapterPayload>();
  const findBy = (model: string, matches: (payload: AdapterPayload) => boolean) =>
    [...kept].find(([key, payload]) => key.startsWith(`${model}:`) && matches(payload))?.[1];
  return (model) => ({
    upsert: async (id, payload) => void kept.set(`${model}:${id}`, payload),
    find: async (id) => kept.get(`${model}:${id}`),
    findByUserCode: async (code) => findBy(model, ({ userCode }) => userCode === code),
    findByUid: async (uid) => findBy(model, (payload) => payload.uid === uid),
    consume: async (id) => {
      const payload = kept.get(`${model}:${id}`);
      if (payload !== undefined) payload.consumed = Math.floor(Date.now() / 1000);
    },
    destroy: async (id) => void kept.delete(`${model}:${id}`),
    revokeByGrantId: async (grant) => {
      for (const [key, { grantId }] of kept) if (grantId === grant) kept.delete(key);
    },
  });
}
