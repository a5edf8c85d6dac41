import { ArgoCdFailure } from "./argocd-failure.js";

/**
 * A redirect is never followed, since the token would go along. Argo CD with TLS answers plain HTTP with one to https;
 * others come from a proxy or a missing path prefix.
 * @param apiPath the path below the configured URL, to tell the base URL from the target.
 */
export function redirectProblem(from: URL, location: string | null, apiPath: string): ArgoCdFailure {
  const target = readTarget(from, location);
  if (target === undefined) {
    return new ArgoCdFailure(
      "failed",
      `Argo CD at ${from.origin} redirects without saying where: check deployer.server_url`,
    );
  }
  const path = target.pathname.slice(0, 200);
  const cure = path.endsWith(apiPath)
    ? `set deployer.server_url to ${target.origin}${path.slice(0, path.length - apiPath.length)}`
    : "set deployer.server_url to the address that answers the API itself";
  return new ArgoCdFailure(
    "failed",
    `Argo CD at ${from.origin} redirects to ${target.origin}${path}, which is not followed because of the token: ${cure}`,
  );
}

function readTarget(from: URL, location: string | null): URL | undefined {
  if (location === null) return undefined;
  try {
    return new URL(location, from);
  } catch {
    return undefined;
  }
}
