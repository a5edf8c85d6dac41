import type * as z from "zod";
import type { HostId } from "../../names.js";
import { count, flag, listOf, secret, section, signingSecret, textLeaf, url, Wrong } from "../schema-parts.js";
import { hostName, privateKey, type ReadFile } from "./server-parts.js";

/** The section of each code host. All are optional: a host without a section is not configured. */
export function hostSections(readFile: ReadFile) {
  return {
    hosta: hostaSection(readFile).optional().describe("GitHub, through a GitHub App"),
    hostb: hostbSection().optional().describe("GitLab"),
  } satisfies Record<HostId, z.ZodType>;
}

function hostaSection(readFile: ReadFile) {
  return section({
    app_id: count(1, Number.MAX_SAFE_INTEGER).describe("id of the GitHub App"),
    private_key: privateKey(readFile).describe(
      "the App's private key: PEM text (line breaks also as `\\n`), or the path of its file",
    ),
    webhook_secret: secret().describe("webhook secret from the App's settings"),
    api_url: url()
      .prefault("https://api.github.com")
      .describe("REST API of a self-hosted GitHub, such as `https://HOST/api/v3`"),
    web_url: url().prefault("https://github.com").describe("web pages of a self-hosted GitHub"),
    commit_status: flag().prefault(true).describe("set the commit status `svc/sync`"),
    deployments: flag()
      .prefault(false)
      .describe(
        "show each sync as a GitHub Deployment; the App then needs the permission `Deployments: read and write`",
      ),
    environment_name: environmentName(),
    aliases: aliases(),
  }).meta({ dependencies: { api_url: ["web_url"], web_url: ["api_url"] } });
}

function hostbSection() {
  return section({
    url: url().prefault("https://gitlab.com").describe("the instance"),
    token: secret().describe("access token of svc's own account"),
    webhook_secret: secret()
      .optional()
      .describe("the webhook's secret token; required without `signing_token`, and unused with it"),
    // https://docs.gitlab.com/user/project/integrations/webhooks/
    signing_token: signingSecret("GitLab's signing token: whsec_ and at least 24 bytes as Base64")
      .optional()
      .describe(
        "the webhook's signing token (`whsec_…`, GitLab 19.1 and later); with it svc refuses a request without a valid signature, or signed more than 5 minutes ago, even if the secret token is right",
      ),
    commit_status: flag().prefault(false).describe("set the commit status `svc/sync`, in the merge request's pipeline"),
    environments: flag()
      .prefault(false)
      .describe("show each sync as a deployment in an environment of GitLab; needs no more than the role Developer"),
    environment_name: environmentName(),
    aliases: aliases(),
  }).meta({ anyOf: [{ required: ["webhook_secret"] }, { required: ["signing_token"] }] });
}

function aliases() {
  return listOf(hostName()).prefault([]).describe("other host names of the same server in repository addresses");
}

/**
 * At most one placeholder between two slashes, and always the application: two applications never share an environment,
 * which a branch's rules may require a deployment to.
 */
const PLACEHOLDER = String.raw`\{(?:cluster|namespace|application)\}[A-Za-z0-9._-]*`;
const SEGMENT = String.raw`(?:[A-Za-z0-9._-]+(?:${PLACEHOLDER})?|${PLACEHOLDER})`;
const ENVIRONMENT_NAME = new RegExp(String.raw`^(?=.{1,100}$)(?=.*\{application\})${SEGMENT}(?:/${SEGMENT})*$`);

function environmentName() {
  return textLeaf(
    "a name with {application}, and {cluster} and {namespace} if wanted, with a slash between each two; else letters, digits, dots, dashes and underscores",
    (value) => (ENVIRONMENT_NAME.test(value) ? value : new Wrong()),
  )
    .meta({ title: "text", type: "string", pattern: ENVIRONMENT_NAME.source })
    .prefault("{cluster}/{namespace}/{application}")
    .describe(
      "name of an application's environment, with `{application}`, `{cluster}` and `{namespace}` of its destination; what the host does not accept becomes `-`",
    );
}
