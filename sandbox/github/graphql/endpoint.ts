import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import type { RequestHandler } from "express";
import { buildSchema, execute, type GraphQLSchema } from "graphql";
import { queryReader } from "../../graphql-queries.js";
import { isObject } from "../examples.js";
import { errorBody } from "../rest.js";
import type { Tokens } from "../tokens.js";
import type { Pull, QueueEntry, World } from "../world.js";
import { FieldNotServed, renderError, resolveField } from "./fields.js";
import { rootResolvers } from "./resolvers.js";

export interface GraphqlOptions {
  readonly world: World;
  readonly tokens: Tokens;
  readonly violated: (what: string) => void;
  /** Tells that the App opened a pull request. */
  readonly opened: (pull: Pull) => void;
  /** Tells that the App put a pull request into a merge queue. */
  readonly queued: (entry: QueueEntry) => void;
}

let known: GraphQLSchema | undefined;

/** GitHub's published schema. Building it takes most of a second, so it is cached. */
function githubSchema(): GraphQLSchema {
  return (known ??= buildSchema(publishedSchema(), { assumeValid: true, noLocation: true }));
}

/** Reads the file, because the package's index builds a schema when it is loaded. */
function publishedSchema(): string {
  const beside = dirname(createRequire(import.meta.url).resolve("@octokit/openapi/package.json"));
  return readFileSync(join(beside, "../graphql-schema/schema.graphql"), "utf8");
}

/** Executes documents against GitHub's published schema. Like GitHub, answers errors with status 200. */
export function graphqlEndpoint({ world, tokens, violated, opened, queued }: GraphqlOptions): RequestHandler {
  return async (request, response) => {
    const caller = tokens.caller(request.headers.authorization);
    if (caller.kind !== "installation") {
      const message = caller.kind === "refused" ? caller.message : "Bad credentials";
      response.status(401).json(errorBody(401, message));
      return;
    }
    const body: unknown = request.body;
    if (!isObject(body) || typeof body.query !== "string") {
      violated("POST /graphql: no query");
      response.json({ errors: [{ message: "A query attribute must be specified and must be a string." }] });
      return;
    }
    const document = readQuery(body.query);
    if ("errors" in document) {
      for (const { message } of document.errors) violated(`POST /graphql: ${message}`);
      response.json({ errors: document.errors.map(renderError) });
      return;
    }
    const result = await execute({
      schema: githubSchema(),
      document,
      rootValue: rootResolvers(world, caller.token, { opened, queued }),
      variableValues: isObject(body.variables) ? body.variables : {},
      operationName: typeof body.operationName === "string" ? body.operationName : undefined,
      fieldResolver: resolveField,
    });
    for (const { message, originalError } of result.errors ?? []) {
      // A wrong variable has no original error. Asking for a missing object is no violation.
      if (originalError === undefined || originalError instanceof FieldNotServed) violated(`POST /graphql: ${message}`);
    }
    response.json({
      ...(result.data === undefined ? {} : { data: result.data }),
      ...(result.errors === undefined ? {} : { errors: result.errors.map(renderError) }),
    });
  };
}

const readQuery = queryReader(githubSchema);
