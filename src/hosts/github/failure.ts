import * as z from "zod";
import { HostFailure, type HostFailureReason } from "../../core/model/errors.js";
import { oneLine, refusalOf } from "../host-refusal.js";
import { GITHUB } from "./words.js";

/** Octokit's `RequestError`. */
const requestErrorSchema = z.object({
  status: z.int(),
  request: z.object({ method: z.string(), url: z.string() }).optional(),
  response: z.object({ headers: z.record(z.string(), z.unknown()), data: z.unknown() }),
});
const messageSchema = z.object({ message: z.string() });

/** Octokit's `GraphqlResponseError`: HTTP 200 with errors. */
const graphqlErrorSchema = z.object({
  errors: z.array(z.object({ type: z.string().nullish().catch(undefined), message: z.string().catch("") })).min(1),
});

/** Converts what an Octokit call threw. @param asked Completes "when asked to". */
export function githubFailure(error: unknown, asked: string, now: Date): HostFailure {
  // Octokit wraps what its fetch throws into an error of its own that pretends a status of 500.
  for (let inner = error; inner instanceof Error; inner = inner.cause) {
    if (inner instanceof HostFailure) return inner;
  }
  const refused = requestErrorSchema.safeParse(error);
  if (refused.success) {
    const { status, response, request } = refused.data;
    const message = messageSchema.safeParse(response.data).data?.message;
    // GraphQL queries and new tokens change nothing although they are POSTs; hiding a comment twice does no harm.
    const changing = request?.method !== "GET" && !/\/(?:graphql|access_tokens)$/.test(request?.url ?? "");
    return refusalOf(GITHUB, asked, { status, headers: response.headers, message, changing, now });
  }
  const graphql = graphqlErrorSchema.safeParse(error);
  if (graphql.success) return graphqlFailure(graphql.data.errors, asked);
  return new HostFailure("failed", `GitHub could not be asked to ${asked}; the log has the cause.`, { cause: error });
}

/** Whether an Octokit call failed since its installation is gone: its token is refused, or it gets none. */
export function endsInstallation(error: unknown): boolean {
  const refused = requestErrorSchema.safeParse(error).data;
  if (refused === undefined) return false;
  return refused.status === 401 || (refused.status === 404 && refused.request?.url.endsWith("/access_tokens") === true);
}

const GRAPHQL_REASONS: ReadonlyMap<string, HostFailureReason> = new Map([
  ["NOT_FOUND", "not-found"],
  ["FORBIDDEN", "forbidden"],
  ["RATE_LIMITED", "rate-limited"],
]);

function graphqlFailure(errors: z.output<typeof graphqlErrorSchema>["errors"], asked: string): HostFailure {
  const reasons = errors.map(({ type }) => GRAPHQL_REASONS.get(type ?? "")).filter((reason) => reason !== undefined);
  const reason = reasons[0] ?? "failed";
  const said = oneLine(errors[0]?.message ?? "", 300);
  const cure =
    reason === "forbidden" ? `: ${GITHUB.permissionCure}` : reason === "not-found" ? `: ${GITHUB.visibilityCure}` : ".";
  return new HostFailure(reason, `GitHub could not ${asked} ("${said}")${cure}`);
}
