import * as z from "zod";
import type { Manifest } from "../../core/model/application.js";
import type { Task } from "../../core/ports/compute.js";
import { parseAnswer, readAnswer } from "./argocd-failure.js";
import { lastAppliedOf, readState } from "./live-resources.js";
import { type Read, reading } from "./read-large.js";

/** The live objects of an application, as texts that Argo CD takes back. */
export interface LiveTexts {
  /** By `liveKey`: those of the wanted ones that are in the cluster. */
  readonly objects: Readonly<Record<string, LiveText>>;
  /** The namespaces of everything that the application has there. */
  readonly namespaces: readonly string[];
}

export interface LiveText {
  readonly text: string;
  readonly lastApplied: Manifest | undefined;
}

interface Identity {
  readonly group: string;
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
}

/** One text per object. */
export function liveKey({ group, kind, namespace, name }: Identity): string {
  return JSON.stringify([group, kind, namespace, name]);
}

const text = z
  .string()
  .nullish()
  .transform((value) => value ?? "");
const answerSchema = z.object({
  items: z.array(z.object({ group: text, kind: text, namespace: text, name: text, liveState: text })).nullish(),
});

/** Reads Argo CD's answer about the live resources of an application, for these keys. */
export const readLiveTextsTask: Task<
  { readonly answer: string; readonly wanted: readonly string[] },
  Read<LiveTexts>
> = {
  name: "read-live-texts",
  run: ({ answer, wanted }) =>
    reading(() => {
      const items = parseAnswer(answerSchema, readAnswer(answer), "its live resources").items ?? [];
      const present = items.filter(({ liveState }) => liveState !== "" && liveState !== "null");
      const keys = new Set(wanted);
      const found = present
        .filter((item) => keys.has(liveKey(item)))
        .map((item) => [
          liveKey(item),
          { text: item.liveState, lastApplied: lastAppliedOf(readState(item.liveState)) },
        ]);
      const namespaces = [...new Set(present.map(({ namespace }) => namespace))].filter((one) => one !== "");
      return { objects: Object.fromEntries(found) as LiveTexts["objects"], namespaces };
    }),
};
