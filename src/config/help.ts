import { ROLES } from "../core/model/settings.js";
import { REPOSITORY_FILE, SERVER_FILE, SERVICE } from "../names.js";

/** What `--help` can be asked about. */
export type HelpTopic = "program" | "check" | "setup" | "setup github" | "setup gitlab" | "token" | "users set-role";

const CONFIG = `  -c, --config FILE   configuration file; may be given several times, later files win key by key
                      (default: ${SERVER_FILE} in the working folder)`;
const SHOW_THIS = "  -h, --help          show this text";
const HOOK_URL = `  --url URL           public address of ${SERVICE}, which webhooks are sent to; required`;
const EVERY_SETUP = `  --secrets FOLDER    where secrets are written, each to a file of mode 0600 (default: secrets)
${SHOW_THIS}`;

export const HELP: Readonly<Record<HelpTopic, string>> = {
  program: `${SERVICE} gates Argo CD deployments through pull requests: it plans them, locks what they affect, deploys and merges them.
Documents: docs/ of the repository that this release comes from, which each release publishes as a site.

Usage:
  ${SERVICE} [-c FILE]...           start the service
  ${SERVICE} check [FILE]...        check configuration files, and with --online the systems in them
  ${SERVICE} setup github --url URL register the GitHub App, and print its section of ${SERVER_FILE}
  ${SERVICE} setup gitlab --url URL check the token, create the webhook, and print GitLab's section
  ${SERVICE} token                  make a token for the API, and its hash for auth.api_tokens
  ${SERVICE} users set-role ID ROLE give somebody the role ${ROLES.join(" or ")}, if no admin can
  ${SERVICE} COMMAND --help         show the options of a command

Options:
${CONFIG}
${SHOW_THIS}
  -v, --version       show the version`,
  check: `Checks configuration files without starting, and names every mistake with its line and its cure.

Usage: ${SERVICE} check [--online] [FILE]...
Files named ${REPOSITORY_FILE} are repository files; all others together are the server's configuration.

Options:
  --online            also ask the systems in them: reachable, credentials accepted, permissions there
${CONFIG}
${SHOW_THIS}`,
  setup: `Registers ${SERVICE} at its code host, and prints the finished section of ${SERVER_FILE}.

Usage:
  ${SERVICE} setup github --url URL register the GitHub App
  ${SERVICE} setup gitlab --url URL check the token and create the webhook
  ${SERVICE} setup github --help    show the options; likewise for gitlab`,
  "setup github": `Leads through the registration of the GitHub App in a browser, and prints its section of ${SERVER_FILE}.

Usage: ${SERVICE} setup github --url URL [OPTIONS]
       ${SERVICE} setup github --poll [OPTIONS]

Options:
${HOOK_URL}
  --poll              in its place, for an App without a webhook: ${SERVICE} asks GitHub every 15s what happened
  --organization NAME owner of the App (default: your own account)
  --name NAME         name of the App; no other App may have it (default: ${SERVICE}-<organization>)
  --public            let other organizations install the App; needs --allow
  --allow PATTERN     with --public: repositories that ${SERVICE} serves, such as acme/*; may be repeated
  --github URL        address of a self-hosted GitHub
  --port N            port of the page that leads through the registration (default: a free one)
  --host ADDRESS      where it listens (default: 127.0.0.1); 0.0.0.0 in a container whose port is published
${EVERY_SETUP}`,
  "setup gitlab": `Checks the token of ${SERVICE}'s account, creates the webhook, and prints GitLab's section of ${SERVER_FILE}.

Usage: ${SERVICE} setup gitlab --url URL --project PATH... [OPTIONS]

Options:
${HOOK_URL}
  --project PATH      project that gets the webhook, such as acme/shop; may be repeated
  --group PATH        group that gets it instead, for all its projects (GitLab Premium)
  --gitlab URL        address of a self-managed GitLab
  --token-stdin       read the token from standard input (default: the variable GITLAB_TOKEN)
${EVERY_SETUP}

The variable GITLAB_SETUP_TOKEN may hold the token of somebody who may create the webhook, if ${SERVICE}'s own may not.`,
  token: `Makes a token for the API, and prints it with its hash, which goes into auth.api_tokens of ${SERVER_FILE}.

Usage: ${SERVICE} token`,
  "users set-role": `Gives somebody a role when no admin can.

Usage: ${SERVICE} users set-role ID ROLE [-c FILE]...
ID is the provider and its own id of the person, such as github:583231; for a wrong one, the answer lists who is logged in.
ROLE is ${ROLES.join(" or ")}.

Options:
${CONFIG}
${SHOW_THIS}`,
};
