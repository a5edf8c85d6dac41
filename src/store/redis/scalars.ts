import { z } from "zod";
import type { ApplicationName, RepositoryName, Revision } from "../../core/model/brand.js";
import type { ChangeRequestRef } from "../../core/model/change-request.js";
import { HOST_IDS } from "../../names.js";

/** Members that several stored records share. */
export const storedRevision = z.custom<Revision>(
  (value) => typeof value === "string" && /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/.test(value),
);
export const storedApplication = z.custom<ApplicationName>((value) => typeof value === "string" && value !== "");
export const storedRepository = z.custom<RepositoryName>(
  (value) => typeof value === "string" && /^[^/\s]+(?:\/[^/\s]+)+$/.test(value),
);
export const storedHost = z.enum(HOST_IDS);
export const storedNumber = z.int().positive();
export const storedTime = z.iso.datetime();

/** JSON has no undefined: the member is left out. */
export function orUndefined<T>(schema: z.ZodType<T>) {
  return schema.nullish().transform((value) => value ?? undefined);
}

export const storedChange: z.ZodType<ChangeRequestRef> = z.object({
  host: storedHost,
  repository: storedRepository,
  number: storedNumber,
});
