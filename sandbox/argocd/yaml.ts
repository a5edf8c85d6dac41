import {
  type Document,
  type DocumentOptions,
  isAlias,
  isScalar,
  parseAllDocuments,
  type ParseOptions,
  type ScalarTag,
  type SchemaOptions,
  visit,
} from "yaml";

/** Words and numbers as Kubernetes' parser reads them (`sigs.k8s.io/yaml`), which knows neither YAML 1.1 nor YAML 1.2. */
const bool: ScalarTag = {
  tag: "tag:yaml.org,2002:bool",
  default: true,
  test: /^(?:[yY]|[yY]es|YES|[tT]rue|TRUE|[oO]n|ON|[nN]|[nN]o|NO|[fF]alse|FALSE|[oO]ff|OFF)$/,
  resolve: (text) => /^(?:[yYtT]|[oO][nN]$)/.test(text),
};

const integer: ScalarTag = {
  tag: "tag:yaml.org,2002:int",
  default: true,
  test: /^[-+]?(?:0_*[xX][\da-fA-F_]*[\da-fA-F]_*|0_*[bB][01_]*[01]_*|0_*[oO]?[0-7_]*[0-7]_*|[1-9][\d_]*|0_*)$/,
  resolve(text) {
    const [, sign, digits = ""] = /^([-+]?)(.*)$/.exec(text.replaceAll("_", "")) ?? [];
    const value = Number(/^0\d/.test(digits) ? `0o${digits.slice(1)}` : digits.toLowerCase());
    return sign === "-" ? -value + 0 : value;
  },
};

const float: ScalarTag = {
  tag: "tag:yaml.org,2002:float",
  default: true,
  test: /^[-+]?(?:\.\d[\d_]*|\d[\d_]*(?:\.[\d_]*)?)(?:[eE][-+]?[\d_]+)?$/,
  resolve(text) {
    const value = Number(text.replaceAll("_", ""));
    return Number.isFinite(value) ? value : text;
  },
};

const binary: ScalarTag = {
  tag: "tag:yaml.org,2002:binary",
  resolve: (text) => Buffer.from(text, "base64").toString("utf8"),
};

const OPTIONS: ParseOptions & DocumentOptions & SchemaOptions = {
  schema: "failsafe",
  merge: true,
  uniqueKeys: false,
  logLevel: "error",
  customTags: (tags) => [...tags, "null", bool, integer, float, binary],
};

/** Every document of a text, with keys as texts. @throws {Error} for what Kubernetes refuses. */
export function readYamlDocuments(text: string): unknown[] {
  const documents = parseAllDocuments(text, OPTIONS);
  return Array.isArray(documents) ? documents.map(valueOf) : [];
}

/** The first document of a text, which is all that Kubernetes' parser reads of it; null if there is none. */
export function readYaml(text: string): unknown {
  return readYamlDocuments(text)[0] ?? null;
}

function valueOf(document: Document): unknown {
  const [mistake] = document.errors;
  if (mistake !== undefined) throw new Error(mistake.message.split("\n")[0]);
  visit(document, {
    Scalar(_, { value, source, type }) {
      if (
        type === "PLAIN" &&
        typeof value === "string" &&
        /^[-+]?\.(?:inf|Inf|INF)$|^\.(?:nan|NaN|NAN)$/.test(source ?? "")
      ) {
        throw new Error(`json: unsupported value: ${value}`);
      }
    },
    Pair(_, { key }) {
      if (!isScalar(key) && !isAlias(key)) throw new Error("yaml: invalid map key");
      if (isScalar(key) && key.value === null) throw new Error("unsupported map key of type: nil");
    },
  });
  return document.toJS({ maxAliasCount: 100 });
}
