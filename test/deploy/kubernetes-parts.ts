import { z } from "zod";

/** Labels or annotations. */
export const labels = z.record(z.string(), z.string());
/** The name of an object or of a part of it. */
export const name = z.string().regex(/^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/);
/** A TCP or UDP port. */
export const portNumber = z.int().min(1).max(65_535);
/** Pods or namespaces by their labels. */
export const selector = z.strictObject({ matchLabels: labels.optional() });

const metadata = z.strictObject({
  name,
  namespace: name.optional(),
  labels,
  annotations: labels.optional(),
});

/** An object of one kind, with these fields beside its metadata and no others. */
export function object<Kind extends string, Shape extends z.core.$ZodLooseShape>(
  apiVersion: string,
  kind: Kind,
  shape: Shape,
) {
  return z.strictObject({ apiVersion: z.literal(apiVersion), kind: z.literal(kind), metadata, ...shape });
}
