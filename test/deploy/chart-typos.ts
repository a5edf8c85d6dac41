import type { ChartValues } from "./chart-values.js";

/** Sections of svc.yaml with slips of the kind that people make, and a part of Helm's sentence about each. */
export const TYPOS: readonly (readonly [string, ChartValues, RegExp])[] = [
  ["a misspelt key", { server: { prot: 80 } }, /at '\/config\/server': additional properties 'prot' not allowed/],
  ["a misspelt rule", { defaults: { require_aproval: true } }, /'require_aproval' not allowed/],
  ["a key one level too high", { require_approval: true }, /at '\/config': additional properties 'require_approval'/],
  [
    "a yes that is no boolean",
    { defaults: { prune: "yes" } },
    /at '\/config\/defaults\/prune': got string, want boolean/,
  ],
  ["a word that does not exist", { comments: { plan: "single" } }, /value must be one of 'auto', 'one', 'all'/],
  ["a text in the place of a list", { defaults: { allowed_repos: "acme/shop" } }, /got string, want array/],
  ["a duration without a unit", { deployer: { sync_timeout: 600 } }, /sync_timeout': got number, want string/],
  ["a duration in words", { deployer: { poll_interval: "2 seconds" } }, /'2 seconds' does not match/],
  ["an address without https://", { server: { base_url: "svc.example.org" } }, /'svc\.example\.org' does not match/],
  ["a Redis without its port", { kvstore: { address: "redis.example.org" } }, /'redis\.example\.org' does not match/],
  ["an App's id in words", { hosta: { app_id: "svc" } }, /at '\/config\/hosta\/app_id': got string, want integer/],
  ["a host without its secret", { hosta: { app_id: 1, private_key: "${KEY}" } }, /missing property 'webhook_secret'/],
  [
    "a provider's missing key",
    { auth: { oidc: { issuer: "https://id.example.org" } } },
    /missing propert(?:y|ies).*'issuer_url'/,
  ],
  ["a login for no role", { auth: { default_role: "editor" } }, /value must be one of 'admin', 'user'/],
  [
    "a number out of range",
    { server: { concurrency: 0 } },
    /at '\/config\/server\/concurrency': minimum: got 0, want 1/,
  ],
  ["a repository that is no path", { defaults: { allowed_repos: ["shop"] } }, /allowed_repos\/0/],
];
