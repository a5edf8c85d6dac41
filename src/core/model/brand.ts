declare const brand: unique symbol;

/** Distinguishes a type from others of the same shape. */
export type Brand<T, Name extends string> = T & { readonly [brand]: Name };

/** A full Git commit id: 40 (SHA-1) or 64 (SHA-256) lower-case hexadecimal digits. */
export type Revision = Brand<string, "Revision">;

/** A repository's full name on its host: `<org>/<repo>`, on some hosts with more parts (`<group>/<subgroup>/<project>`). */
export type RepositoryName = Brand<string, "RepositoryName">;

/** How svc names an application: `<name>`, or `<namespace>/<name>` outside Argo CD's own namespace. */
export type ApplicationName = Brand<string, "ApplicationName">;

/** @throws {TypeError} if the text is not a full commit id. */
export function revision(text: string): Revision {
  if (!/^(?:[0-9a-f]{40}|[0-9a-f]{64})$/.test(text)) throw new TypeError("not a full commit id");
  return text as Revision;
}

/** @throws {TypeError} if the text cannot be a repository's full name. */
export function repositoryName(text: string): RepositoryName {
  if (!/^[^/\s]+(?:\/[^/\s]+)+$/.test(text)) throw new TypeError("not a repository's full name");
  return text as RepositoryName;
}

/** @throws {TypeError} if the text is empty. */
export function applicationName(text: string): ApplicationName {
  if (text === "") throw new TypeError("an application's name is empty");
  return text as ApplicationName;
}

/** `<name>`, or `<namespace>_<name>` outside Argo CD's own namespace: `ARGOCD_APP_NAME`. */
export function instanceNameOf(application: ApplicationName): string {
  return application.replace("/", "_");
}

/** The first eight digits, for people. */
export function shortRevision(commit: Revision): string {
  return commit.slice(0, 8);
}
