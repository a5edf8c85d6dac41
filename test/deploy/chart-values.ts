import { readFileSync } from "node:fs";
import { parse } from "yaml";

/** Values of one rendering of the chart. */
export type ChartValues = Readonly<Record<string, unknown>>;

const image = { repository: "registry.example.org/svc" };
const deployer = { server_url: "https://argocd.example.org", token: "${ARGOCD_TOKEN}" };
const github = {
  app_id: 1_234_567,
  private_key: "${GITHUB_APP_PRIVATE_KEY}",
  webhook_secret: "${GITHUB_WEBHOOK_SECRET}",
};
const gitlab = { url: "https://gitlab.example.org:8443", token: "${GITLAB_TOKEN}", webhook_secret: "${GITLAB_SECRET}" };
const redis = { address: "redis.example.org:6380", password: "${REDIS_PASSWORD}" };

const LOGIN = { client_id: "svc", client_secret: "${LOGIN_SECRET}" };

/** The least that can be installed: one process, no Redis, no ingress. */
export const SINGLE: ChartValues = { image, existingSecret: "svc", config: { deployer, hosta: github } };

/** Two processes with Redis behind an ingress, as the installation guide has it. */
export const WITH_REDIS: ChartValues = {
  ...SINGLE,
  config: { deployer, kvstore: redis, hosta: github },
  ingress: { enabled: true, className: "nginx", host: "svc.example.org", tlsSecret: "svc-tls" },
};

/** Every value set, every optional object made. */
export const EVERYTHING: ChartValues = {
  image: {
    ...image,
    digest: `sha256:${"0123456789abcdef".repeat(4)}`,
    pullPolicy: "Always",
    pullSecrets: ["registry"],
  },
  fullnameOverride: "gate",
  replicas: 3,
  config: {
    server: { port: 8080, metrics_port: 9090, shutdown_grace: "1m30s", log_level: "warn" },
    kvstore: {
      address: "redis.example.org:6380",
      password: "${REDIS_PASSWORD}",
      tls: true,
      ca_file: "/etc/svc-files/ca",
    },
    deployer,
    hosta: { ...github, private_key: "/etc/svc-files/key" },
    hostb: gitlab,
    defaults: { require_approval: true, allowed_repos: ["github:acme/*"] },
    auth: {
      enabled: false,
      session_secret: "${SESSION_SECRET}",
      oidc: {
        name: "Login",
        issuer_url: "http://id.example.org:8180/realms/acme",
        client_id: "svc",
        client_secret: "${OIDC_SECRET}",
      },
      basic: { users: [{ username: "ana", password: "${ANA_PASSWORD}", role: "admin" }] },
    },
    checks: [{ name: "conftest", command: ["/opt/checks/conftest", "test", "-p", "/etc/svc-checks", "-"] }],
    application_repositories: [{ application: "shop-*", repositories: ["github:acme/shop"] }],
    notifications: [
      { name: "chat", url: "${CHAT_URL}", format: "slack" },
      { name: "records", url: "http://records.example.org:8090/svc", format: "json", secret: "${RECORDS_SECRET}" },
    ],
  },
  existingSecret: "svc-secrets",
  filesSecret: "svc-files",
  checks: {
    programs: [
      { name: "conftest", image: "registry.example.org/conftest", command: ["cp", "/conftest", "/opt/checks/"] },
    ],
    configMap: "svc-rules",
  },
  trustedCertificates: { configMap: "company-ca", key: "bundle.pem", git: true },
  env: { OTEL_EXPORTER_OTLP_ENDPOINT: "http://otel.example.org:4318" },
  secretEnv: ["OTEL_EXPORTER_OTLP_HEADERS"],
  service: { type: "NodePort", port: 8080, annotations: { "example.org/a": "b" } },
  ingress: {
    enabled: true,
    className: "nginx",
    host: "svc.example.org",
    paths: ["/webhook/"],
    annotations: { "nginx.ingress.kubernetes.io/proxy-body-size": "25m" },
    tlsSecret: "svc-tls",
  },
  resources: { requests: { cpu: "250m", memory: "512Mi" }, limits: { cpu: 2, memory: "2Gi" } },
  serviceAccount: { create: true, name: "gatekeeper" },
  secretVersion: "7",
  deploymentAnnotations: { "reloader.stakater.com/auto": "true" },
  podAnnotations: { "example.org/a": "b" },
  podLabels: { "example.org/team": "platform" },
  extraVolumes: [{ name: "tools", emptyDir: { sizeLimit: "100Mi" } }],
  extraVolumeMounts: [{ name: "tools", mountPath: "/opt/tools", readOnly: true }],
  initContainers: [
    {
      name: "tools",
      image: "registry.example.org/tools:1",
      command: ["cp", "-r", "/tools/.", "/opt/tools"],
      volumeMounts: [{ name: "tools", mountPath: "/opt/tools" }],
    },
  ],
  extraContainers: [{ name: "collector", image: "registry.example.org/collector:1" }],
  nodeSelector: { "kubernetes.io/os": "linux" },
  tolerations: [{ key: "spot", operator: "Exists", effect: "NoSchedule" }],
  affinity: { nodeAffinity: {} },
  priorityClassName: "high",
  podDisruptionBudget: { maxUnavailable: "50%" },
  networkPolicy: { enabled: true, extraEgress: [{ ports: [{ port: 4318, protocol: "TCP" }] }] },
  serviceMonitor: { enabled: true, labels: { release: "prometheus" } },
  prometheusRule: { enabled: true, labels: { release: "prometheus" } },
};

/** As many processes as the work needs, behind a Gateway. */
export const SCALED: ChartValues = {
  ...SINGLE,
  config: { deployer, kvstore: redis, hosta: github },
  autoscaling: { enabled: true },
  httpRoute: {
    enabled: true,
    parentRefs: [{ name: "public", namespace: "gateways", sectionName: "https" }],
    hostnames: ["svc.example.org"],
    paths: ["/webhook/"],
    annotations: { "example.org/a": "b" },
  },
};

/** The same values with the products' names of `config`'s sections. */
export function inProductsWords({ config, ...values }: ChartValues): ChartValues {
  const names: Readonly<Record<string, string>> = {
    hosta: "github",
    hostb: "gitlab",
    deployer: "argocd",
    kvstore: "redis",
  };
  const renamed = (sections: unknown): object =>
    Object.fromEntries(
      Object.entries(sections as object).map(([key, value]) => [
        names[key] ?? key,
        key === "auth" ? renamed(value) : (value as unknown),
      ]),
    );
  return { ...values, config: renamed(config) };
}

/** Every key of svc.yaml that the annotated example sets. */
const EXAMPLE_CONFIG = parse(readFileSync(new URL("../../svc.example.yaml", import.meta.url), "utf8")) as unknown;

/** Renderings that have to come out right, by what they show. */
export const GOOD_VALUES: readonly (readonly [string, ChartValues])[] = [
  ["one process without Redis", SINGLE],
  ["Redis and an ingress", WITH_REDIS],
  ["everything on", EVERYTHING],
  ["as many processes as the work needs, and a route of a Gateway", SCALED],
  ["the whole of svc.example.yaml", { ...SINGLE, config: EXAMPLE_CONFIG }],
  ["no ingress", { ...WITH_REDIS, ingress: { enabled: false } }],
  ["an ingress without TLS", { ...WITH_REDIS, ingress: { enabled: true, host: "svc.example.org", tls: false } }],
  ["a Secret that the chart makes", { ...SINGLE, existingSecret: "", secret: secretsOf(SINGLE) }],
  ["Redis with one process", { ...WITH_REDIS, replicas: 1 }],
  ["switched off", { ...WITH_REDIS, replicas: 0 }],
  ["GitLab alone", { ...SINGLE, config: { deployer, hostb: gitlab } }],
  [
    "everything optional off",
    {
      ...WITH_REDIS,
      serviceAccount: { create: false },
      topologySpread: { enabled: false },
      podDisruptionBudget: { enabled: false },
    },
  ],
  ["a network policy that names no namespace", { ...WITH_REDIS, networkPolicy: openPolicy() }],
];

/** Values that have to be refused, and a part of the sentence that says why. */
export const BAD_VALUES: readonly (readonly [string, ChartValues, RegExp])[] = [
  ["an unknown key", { ...SINGLE, replicaCount: 2 }, /replicaCount/],
  ["an unknown key further in", { ...SINGLE, ingress: { hostname: "a" } }, /hostname/],
  ["an unknown section of svc.yaml", { ...SINGLE, config: { deployer, hosta: github, kvstroe: redis } }, /kvstroe/],
  ["a wrong type", { ...SINGLE, networkPolicy: { enabled: "yes" } }, /networkPolicy\/enabled/],
  ["no image", { ...SINGLE, image: {} }, /image\.repository: name the registry/],
  ["no host", { ...SINGLE, config: { deployer } }, /github/],
  ["no Argo CD", { ...SINGLE, config: { hosta: github } }, /argocd/],
  [
    "a section under both names",
    { ...SINGLE, config: { deployer, hosta: github, github } },
    /config\.github: is another name of `config\.hosta`, which is set as well: keep one of them/,
  ],
  [
    "a login under both names",
    { ...SINGLE, config: { deployer, hosta: github, auth: { gitlab: LOGIN, hostb: LOGIN } } },
    /config\.auth\.gitlab: is another name of `config\.auth\.hostb`, which is set as well: keep one of them/,
  ],
  ["an empty section beside its other name", { ...SINGLE, config: { deployer, hosta: github, argocd: {} } }, /argocd/],
  [
    "a secret under a product's name",
    { ...SINGLE, config: { argocd: { ...deployer, token: "plain-secret" }, github } },
    /config\.argocd\.token: write \$\{NAME\} here/,
  ],
  [
    "a login's secret under a product's name",
    { ...SINGLE, config: { deployer, github, auth: { github: { ...LOGIN, client_secret: "plain-secret" } } } },
    /config\.auth\.github\.client_secret: write \$\{NAME\} here/,
  ],
  ["a port that is none", { ...SINGLE, config: { server: { port: 70_000 }, deployer, hosta: github } }, /server\/port/],
  [
    "a folder that cannot be written",
    { ...SINGLE, config: { server: { data_dir: "/var/lib/svc" }, deployer, hosta: github } },
    /data_dir/,
  ],
  ["two processes without Redis", { ...SINGLE, replicas: 2 }, /replicas: 2 processes need a common store/],
  [
    "a secret in config",
    { ...SINGLE, config: { deployer: { ...deployer, token: "plain-secret" }, hosta: github } },
    /config\.deployer\.token: write \$\{NAME\} here/,
  ],
  [
    "the address of a chat in config",
    {
      ...SINGLE,
      config: {
        deployer,
        hosta: github,
        notifications: [{ name: "a", url: "https://a.example.org", format: "slack" }],
      },
    },
    /config\.notifications\[0\]\.url: write \$\{NAME\} here/,
  ],
  [
    "a private key in config",
    { ...SINGLE, config: { deployer, hosta: { ...github, private_key: "-----BEGIN plain-secret" } } },
    /config\.hosta\.private_key: write/,
  ],
  [
    "a user's password in config",
    {
      ...SINGLE,
      config: {
        deployer,
        hosta: github,
        auth: { basic: { users: [{ username: "a", password: "plain-secret", role: "user" }] } },
      },
    },
    /config\.auth\.basic\.users\[0\]\.password: write/,
  ],
  ["no Secret", { ...SINGLE, existingSecret: "" }, /secret\.ARGOCD_TOKEN: config uses \$\{ARGOCD_TOKEN\}/],
  ["two Secrets", { ...SINGLE, secret: secretsOf(SINGLE) }, /secret: existingSecret is set as well/],
  ["an ingress without a name", { ...SINGLE, ingress: { enabled: true } }, /ingress\.host/],
  [
    "a ServiceMonitor without metrics",
    { ...SINGLE, serviceMonitor: { enabled: true } },
    /set config\.server\.metrics_port/,
  ],
  ["rules without metrics", { ...SINGLE, prometheusRule: { enabled: true } }, /set config\.server\.metrics_port/],
  [
    "a label that the selectors need",
    { ...SINGLE, podLabels: { "app.kubernetes.io/name": "a" } },
    /podLabels|propertyName/,
  ],
  [
    "autoscaling without Redis",
    { ...SINGLE, autoscaling: { enabled: true } },
    /autoscaling\.enabled: several processes/,
  ],
  [
    "autoscaling beside a number of processes",
    { ...SCALED, replicas: 3 },
    /replicas: autoscaling\.enabled is set as well/,
  ],
  [
    "fewer processes at most than at least",
    { ...SCALED, autoscaling: { enabled: true, minReplicas: 4, maxReplicas: 3 } },
    /autoscaling\.minReplicas: 4 is more than autoscaling\.maxReplicas, 3/,
  ],
  [
    "a route of no name",
    { ...SCALED, httpRoute: { enabled: true, parentRefs: [{ name: "public" }] } },
    /httpRoute\.hostnames: list the names/,
  ],
  [
    "a route without a Gateway",
    { ...SCALED, httpRoute: { enabled: true, hostnames: ["svc.example.org"] } },
    /httpRoute\.parentRefs: name the Gateway/,
  ],
  ["a variable that is none", { ...SINGLE, env: { "A-B": "1" } }, /invalid propertyName 'A-B'/],
];

/** A value for every `${NAME}` that the values name. */
export function secretsOf(values: ChartValues): Readonly<Record<string, string>> {
  const names = [...JSON.stringify(values).matchAll(/\$\{(\w+)\}/g)].map(([, name = ""]) => name);
  return Object.fromEntries(names.map((name) => [name, `the value of ${name} `.repeat(3).trim()]));
}

function openPolicy(): ChartValues {
  // Helm merges maps, so that a default label goes away only by null.
  const none = { "kubernetes.io/metadata.name": null };
  return { enabled: true, ingressNamespace: none, monitoringNamespace: none, argocdNamespace: none };
}
