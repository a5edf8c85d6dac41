import { createFileRegistry, fromBinary, fromJson, toBinary, toJson, type DescMessage } from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import * as z from "zod";
import type { LiveResource } from "../../core/ports/deployer.js";
import { ArgoCdFailure, parseAnswer } from "./argocd-failure.js";

/** The path of the call, which Argo CD 3.2 and newer has over gRPC alone: REST cannot carry lists of messages. */
export const SERVER_SIDE_DIFF = "/application.ApplicationService/ServerSideDiff";

export interface AskedObject extends Pick<LiveResource, "group" | "kind" | "namespace" | "name"> {
  /** As JSON, exactly as `managed-resources` returns it; empty for an object that is not in the cluster. */
  readonly live: string;
  readonly target: string;
}

interface AskedApplication {
  readonly appName: string;
  readonly appNamespace: string | undefined;
  readonly project: string | undefined;
}

/** As JSON: the object before a server-side apply, and what that makes of it. */
export interface AnsweredObject extends Pick<AskedObject, "group" | "kind" | "namespace" | "name"> {
  readonly liveState: string;
  readonly targetState: string;
}

type Field = Readonly<Record<string, string | number>>;

const text = (number: number, name: string): Field => field(number, name, "LABEL_OPTIONAL", "TYPE_STRING");
const texts = (number: number, name: string): Field => field(number, name, "LABEL_REPEATED", "TYPE_STRING");
const messages = (number: number, name: string, typeName: string): Field => ({
  ...field(number, name, "LABEL_REPEATED", "TYPE_MESSAGE"),
  typeName: `.argocd.${typeName}`,
});

function field(number: number, name: string, label: string, type: string): Field {
  return { number, name, jsonName: name, label, type };
}

/**
 * The part of Argo CD's messages that is used here, with its numbers of fields (`server/application/application.proto` and
 * `pkg/apis/application/v1alpha1/generated.proto` of v3.5.1). Other fields of an answer are skipped.
 */
const FILE = fromJson(FileDescriptorProtoSchema, {
  name: "server-side-diff.proto",
  package: "argocd",
  syntax: "proto2",
  messageType: [
    {
      name: "ResourceDiff",
      field: [
        ...[text(1, "group"), text(2, "kind"), text(3, "namespace"), text(4, "name")],
        ...[text(5, "targetState"), text(6, "liveState")],
      ],
    },
    {
      name: "Query",
      field: [
        text(1, "appName"),
        text(2, "appNamespace"),
        text(3, "project"),
        messages(4, "liveResources", "ResourceDiff"),
        texts(5, "targetManifests"),
      ],
    },
    { name: "Answer", field: [messages(1, "items", "ResourceDiff")] },
  ],
});
const registry = createFileRegistry(FILE, () => undefined);

function message(name: string): DescMessage {
  const found = registry.getMessage(`argocd.${name}`);
  if (found === undefined) throw new Error(`there is no message ${name}`);
  return found;
}

const QUERY = message("Query");
const ANSWER = message("Answer");

/** Live objects and targets are paired by their place in the lists. */
export function writeQuery(application: AskedApplication, objects: readonly AskedObject[]): Uint8Array {
  const { appName, appNamespace, project } = application;
  const query = {
    appName,
    ...(appNamespace === undefined ? {} : { appNamespace }),
    ...(project === undefined ? {} : { project }),
    liveResources: objects.map(({ group, kind, namespace, name, live }) => {
      return { group, kind, namespace, name, liveState: live };
    }),
    targetManifests: objects.map(({ target }) => target),
  };
  return toBinary(QUERY, fromJson(QUERY, query));
}

const part = z.string().default("");
const answerSchema = z.object({
  items: z
    .array(z.object({ group: part, kind: part, namespace: part, name: part, targetState: part, liveState: part }))
    .default([]),
});

export function readObjects(bytes: Uint8Array): readonly AnsweredObject[] {
  let answer: unknown;
  try {
    answer = toJson(ANSWER, fromBinary(ANSWER, bytes, { readUnknownFields: false }));
  } catch (error) {
    throw new ArgoCdFailure("failed", "Argo CD's answer is incomplete or not a protobuf message", { cause: error });
  }
  return parseAnswer(answerSchema, answer, "what Kubernetes would accept").items;
}
