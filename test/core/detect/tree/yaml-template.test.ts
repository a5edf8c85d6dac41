import { describe, expect, test } from "@jest/globals";
import { isTemplate } from "../../../../src/core/detect/tree/yaml-documents.js";

const HEAD = "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata:\n";

describe("a text that is no YAML", () => {
  test.each([
    `${HEAD}  name: {{ .Release.Name }}-x\n`,
    `${HEAD}  name: web\n  labels:\n    {{- include "labels" . | nindent 4 }}\nspec: {}\n`,
    `{{- if .Values.on }}\n${HEAD}  name: web\n{{- end }}\n`,
    `# of the team\n{{ range .Values.names }}\n${HEAD}`,
    `${HEAD}  name: "{{ .name | default "web" }}"\n`,
    `${HEAD}  name: '{{ .name | default 'web' }}'\n`,
    `${HEAD}  finalizers: [{{ .finalizer }}]\n`,
    `${HEAD}  name: web\nspec:\n  source: {repoURL: x, path: {{ .path }}}\n`,
  ])("is a template: %j", (text) => {
    expect(isTemplate(text)).toBe(true);
  });

  test.each([
    ["braces in a comment that only some parsers see", `${HEAD}  name: "web"#{{ \n`],
    ["braces in a comment", `${HEAD}  name: web # {{ x }}\nbroken: [\n`],
    ["braces in a text", `${HEAD}  name: |\n    {{ x }}\nbroken: [\n`],
    ["braces in quotes", `${HEAD}  name: "{{ x }}"\nbroken: [\n`],
    ["braces behind what is not clear", 'x: "a"#\nkind: {{ x }}\n'],
    ["braces behind a whole map", '{"kind": "Application"}\n{{ x }}'],
    ["braces in the next document", `${HEAD}  name: web\n...\n{{ x }}`],
    ["no braces", `${HEAD}  name: [\n`],
  ])("is none by %s", (_, text) => {
    expect(isTemplate(text)).toBe(false);
  });
});
