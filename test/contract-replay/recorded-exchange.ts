import { z } from "zod";

/** One request to Argo CD and its answer. Of the headers only the content type: the others hold the token. */
export const recordedExchange = z.object({
  method: z.string(),
  path: z.string(),
  /** As it was sent, without the question mark. */
  query: z.string(),
  contentType: z.string().optional(),
  /** Empty without a body. */
  requestBody: z.string(),
  status: z.int(),
  /** JSON, or text where the server answered text. */
  answer: z.unknown(),
});

export type RecordedExchange = z.infer<typeof recordedExchange>;
