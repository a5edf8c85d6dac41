/** A sample repository with one application for each way that Argo CD renders. */
export interface Shop {
  readonly repository: string;
  /** Namespace in the cluster. */
  readonly namespace: string;
  /** Name of the application made of plain YAML. */
  readonly plain: string;
  readonly kustomize: string;
  readonly helm: string;
}

/** The values that people change in the demo. */
export interface ShopValues {
  readonly plainTag: string;
  readonly plainReplicas: number;
  readonly banner: string;
  readonly discount: string;
  readonly kustomizeTag: string;
  readonly helmTag: string;
}

export const FIRST_VALUES: ShopValues = {
  plainTag: "1.4.2",
  plainReplicas: 2,
  banner: "Welcome",
  discount: "10",
  kustomizeTag: "2.1.0",
  helmTag: "0.9.3",
};

export function applicationsOf({ plain, kustomize, helm }: Shop): readonly { name: string; kind: string }[] {
  return [
    { name: plain, kind: "plain YAML" },
    { name: kustomize, kind: "Kustomize" },
    { name: helm, kind: "Helm chart" },
  ];
}

/** The repository's files: three applications and the Argo CD Application resources that point at them. */
export function shopFiles(shop: Shop, values: ShopValues, cloneUrl: string): Readonly<Record<string, string>> {
  const { plain, kustomize, helm, namespace } = shop;
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
