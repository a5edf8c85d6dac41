/** A sample repository: an application for each way that Argo CD renders, one with a volume and one with a Secret. */
export interface Shop {
  readonly repository: string;
  /** Namespace in the cluster. */
  readonly namespace: string;
  /** Name of the application made of plain YAML. */
  readonly plain: string;
  readonly kustomize: string;
  readonly helm: string;
  /** Keeps data in a volume. */
  readonly storage: string;
  /** Has a Secret. */
  readonly secret: string;
}

/** The values that people change in the demo. */
export interface ShopValues {
  readonly plainTag: string;
  readonly plainReplicas: number;
  readonly banner: string;
  readonly discount: string;
  readonly kustomizeTag: string;
  readonly helmTag: string;
  readonly storageTag: string;
  /** Number of the volume claim. */
  readonly claim: number;
  /** Number of the password. */
  readonly password: number;
  /** Number of monthly reports; with none there is no such object. */
  readonly reports: number;
  /** Where reports go. */
  readonly reportsNamespace: string;
}

export const FIRST_VALUES: ShopValues = {
  plainTag: "1.4.2",
  plainReplicas: 2,
  banner: "Welcome",
  discount: "10",
  kustomizeTag: "2.1.0",
  helmTag: "0.9.3",
  storageTag: "8.15.0",
  claim: 1,
  password: 1,
  reports: 0,
  reportsNamespace: "",
};

export function applicationsOf({
  plain,
  kustomize,
  helm,
  storage,
  secret,
}: Shop): readonly { name: string; kind: string }[] {
  return [
    { name: plain, kind: "plain YAML" },
    { name: kustomize, kind: "Kustomize" },
    { name: helm, kind: "Helm chart" },
    { name: storage, kind: "with a volume" },
    { name: secret, kind: "with a Secret" },
  ];
}

/** The repository's files: the applications and the Argo CD Application resources that point at them. */
export function shopFiles(shop: Shop, values: ShopValues, cloneUrl: string): Readonly<Record<string, string>> {
  const { plain, kustomize, helm, storage, secret, namespace } = shop;
  const at = { cloneUrl, namespace };
  return {
    [`argocd/${plain}.yaml`]: applicationYaml(plain, `apps/${plain}`, at),
    [`argocd/${kustomize}.yaml`]: applicationYaml(kustomize, `apps/${kustomize}/overlays/production`, at),
    [`argocd/${helm}.yaml`]: applicationYaml(helm, `apps/${helm}`, at),
    [`apps/${plain}/deployment.yaml`]: deploymentYaml(plain, String(values.plainReplicas), values.plainTag),
    [`apps/${plain}/service.yaml`]: serviceYaml(plain),
    [`apps/${plain}/configmap.yaml`]: configMapYaml(plain, values),
    [`apps/${kustomize}/base/kustomization.yaml`]: "resources:\n  - deployment.yaml\n  - service.yaml\n",
    [`apps/${kustomize}/base/deployment.yaml`]: deploymentYaml(kustomize, "1", "latest"),
    [`apps/${kustomize}/base/service.yaml`]: serviceYaml(kustomize),
    [`apps/${kustomize}/overlays/production/kustomization.yaml`]: overlayYaml(kustomize, values),
    [`apps/${helm}/Chart.yaml`]: `apiVersion: v2\nname: ${helm}\nversion: 0.1.0\n`,
    [`apps/${helm}/values.yaml`]: `replicas: 2\ntag: ${values.helmTag}\nlogLevel: info\n`,
    [`apps/${helm}/templates/deployment.yaml`]: deploymentYaml(helm, "{{ .Values.replicas }}", "{{ .Values.tag }}"),
    [`apps/${helm}/templates/configmap.yaml`]: `apiVersion: v1
kind: ConfigMap
metadata:
  name: ${helm}
data:
  log_level: {{ .Values.logLevel | quote }}
`,
    ...(values.reports === 0 ? {} : { [`apps/${helm}/templates/report.yaml`]: reportYaml(helm, values) }),
    [`argocd/${storage}.yaml`]: applicationYaml(storage, `apps/${storage}`, at),
    [`apps/${storage}/deployment.yaml`]: deploymentYaml(storage, "1", values.storageTag),
    [`apps/${storage}/volume.yaml`]: claimYaml(`${storage}-data-${values.claim}`),
    [`argocd/${secret}.yaml`]: applicationYaml(secret, `apps/${secret}`, at),
    [`apps/${secret}/deployment.yaml`]: deploymentYaml(secret, "1", "3.0.1"),
    [`apps/${secret}/secret.yaml`]: secretYaml(`${secret}-login`, values.password),
  };
}

/** An Application resource as YAML. The cluster starts with the same resource. */
export function applicationYaml(
  name: string,
  path: string,
  { cloneUrl, namespace }: { readonly cloneUrl: string; readonly namespace: string },
): string {
  return `apiVersion: argoproj.io/v1alpha1
kind: Application
metadata:
  name: ${name}
  namespace: argocd
spec:
  project: default
  source:
    repoURL: ${cloneUrl}
    path: ${path}
    targetRevision: main
  destination:
    server: https://kubernetes.default.svc
    namespace: ${namespace}
`;
}

function deploymentYaml(name: string, replicas: string, tag: string): string {
  return `apiVersion: apps/v1
kind: Deployment
metadata:
  name: ${name}
spec:
  replicas: ${replicas}
  selector:
    matchLabels:
      app: ${name}
  template:
    metadata:
      labels:
        app: ${name}
    spec:
      containers:
        - name: ${name}
          image: registry.example.com/${name}:${tag}
          ports:
            - containerPort: 8080
`;
}

function serviceYaml(name: string): string {
  return `apiVersion: v1
kind: Service
metadata:
  name: ${name}
spec:
  selector:
    app: ${name}
  ports:
    - port: 80
      targetPort: 8080
`;
}

/** `banner` and `discount_percent` are apart, so that git can merge changes of both. */
function configMapYaml(name: string, { banner, discount }: ShopValues): string {
  return `apiVersion: v1
kind: ConfigMap
metadata:
  name: ${name}
data:
  banner: ${JSON.stringify(banner)}
  currency: EUR
  language: en
  discount_percent: ${JSON.stringify(discount)}
`;
}

function overlayYaml(name: string, { kustomizeTag }: ShopValues): string {
  return `resources:
  - ../../base
patches:
  - target:
      kind: Deployment
      name: ${name}
    patch: |
      - op: replace
        path: /spec/replicas
        value: 3
images:
  - name: registry.example.com/${name}
    newTag: ${kustomizeTag}
`;
}

function claimYaml(name: string): string {
  return `apiVersion: v1
kind: PersistentVolumeClaim
metadata:
  name: ${name}
spec:
  accessModes:
    - ReadWriteOnce
  resources:
    requests:
      storage: 20Gi
`;
}

function secretYaml(name: string, password: number): string {
  const value = Buffer.from(`password number ${password}`).toString("base64");
  return `apiVersion: v1
kind: Secret
metadata:
  name: ${name}
data:
  password: ${value}
  username: bWFpbGVy
`;
}

function reportYaml(name: string, { reports, reportsNamespace }: ShopValues): string {
  return `apiVersion: v1
kind: ConfigMap
metadata:
  name: ${name}-report
  namespace: ${reportsNamespace}
data:
  months: "${reports}"
`;
}
