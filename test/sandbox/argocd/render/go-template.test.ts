import { describe, expect, test } from "@jest/globals";
import type { Json } from "../../../../sandbox/argocd/json.js";
import { definitionsIn, executeTemplate } from "../../../../sandbox/argocd/template/execute-template.js";

const data: Json = {
  name: "web",
  empty: "",
  count: 3,
  on: true,
  tags: ["a", "b"],
  labels: { z: "1", a: "2" },
  nested: { deep: { value: "x" } },
};

const run = (text: string, strict = false): string => executeTemplate(text, data, { name: "base", strict });

describe("Go templates", () => {
  test.each([
    ["{{ .name }}-{{.nested.deep.value}}", "web-x"],
    ["{{ .name | upper | quote }}", '"WEB"'],
    ['{{ default "none" .empty }} {{ .none | default "gone" }}', "none gone"],
    ["{{ .none }}", "<no value>"],
    ["{{ if .on }}yes{{ else }}no{{ end }}", "yes"],
    ["{{ if .empty }}a{{ else if eq .count 3 }}b{{ else }}c{{ end }}", "b"],
    ["{{ if and .on (not .empty) }}ok{{ end }}", "ok"],
    ["{{ range .tags }}[{{ . }}]{{ end }}", "[a][b]"],
    ["{{ range $k, $v := .labels }}{{ $k }}={{ $v }},{{ end }}", "a=2,z=1,"],
    ["{{ range .none }}x{{ else }}nothing{{ end }}", "nothing"],
    ["{{ with .nested.deep }}{{ .value }}{{ $.name }}{{ end }}", "xweb"],
    ["{{ $x := .name }}{{ $x }}{{ $x = `y` }}{{ $x }}", "weby"],
    ["a  {{- /* a remark */ -}}  b", "ab"],
    ["a\n  {{- .name }}\nb", "aweb\nb"],
    ['{{ printf "%s-%d" .name .count }}', "web-3"],
    ["x:{{ toYaml .labels | nindent 2 }}", 'x:\n  z: "1"\n  a: "2"'],
    ["{{ index .tags 1 }}{{ len .tags }}", "b2"],
    ['{{ .name | replace "e" "i" | trunc 2 }}', "wi"],
    ["{{ (index .tags 0) }}{{ .nested | toJson }}", 'a{"deep":{"value":"x"}}'],
    ["{{`{{ literal }}`}}", "{{ literal }}"],
  ])("%s", (text, expected) => {
    expect(run(text)).toBe(expected);
  });

  test.each([
    ["s-{{.env}}", 'template: base:1:4: executing "base" at <.env>: map has no entry for key "env"'],
    [
      "\n{{ .nested.other }}",
      'template: base:2:3: executing "base" at <.nested.other>: map has no entry for key "other"',
    ],
    ["{{ nothing .a }}", 'template: base:1: function "nothing" not defined'],
    ["{{ if .on }}", "template: base: unexpected EOF"],
    ["{{ end }}", "template: base: unexpected {{end}}"],
    [
      '{{ required "say it" .empty }}',
      'template: base:1:3: executing "base" at <required>: error calling required: say it',
    ],
    [
      "{{ .name.more }}",
      'template: base:1:3: executing "base" at <.name.more>: can\'t evaluate field more in type string',
    ],
  ])("%s fails with Go's words", (text, message) => {
    expect(() => run(text, true)).toThrow(message);
  });

  test("named templates are included", () => {
    const named = new Map(definitionsIn('{{ define "who" }}I am {{ .name }}{{ end }}', "_helpers.tpl"));
    expect(executeTemplate('{{ include "who" . | upper }}', data, { name: "x", named })).toBe("I AM WEB");
  });
});
