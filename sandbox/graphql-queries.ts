import { type DocumentNode, GraphQLError, type GraphQLSchema, parse, validate } from "graphql";

type Query = DocumentNode | { readonly errors: readonly GraphQLError[] };

/** Returns a reader of queries that keeps each one it has validated: a client sends the same few, and validating one takes longer than answering it. */
export function queryReader(schema: () => GraphQLSchema): (query: string) => Query {
  const read = new Map<string, Query>();
  return (query) => {
    const found = read.get(query) ?? validated(query, schema());
    read.set(query, found);
    return found;
  };
}

function validated(query: string, schema: GraphQLSchema): Query {
  try {
    const document = parse(query);
    const errors = validate(schema, document);
    return errors.length === 0 ? document : { errors };
  } catch (error) {
    if (error instanceof GraphQLError) return { errors: [error] };
    throw error;
  }
}
