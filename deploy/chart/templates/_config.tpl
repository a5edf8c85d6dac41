{{/*
`config` with one name for each section: the second of each pair. The products' names, of the first, are for people; svc.yaml
in the pods and all other templates have the second. A section under both is refused, as svc refuses it.
*/}}
{{- define "svc.sections" -}}
{{- $config := deepCopy .Values.config -}}
{{- $auth := $config.auth | default dict -}}
{{- $names := list
  (list "github" "hosta") (list "gitlab" "hostb") (list "argocd" "deployer") (list "redis" "kvstore")
  (list "auth.github" "auth.hosta") (list "auth.gitlab" "auth.hostb") -}}
{{- range $names -}}
{{- $sections := ternary $auth $config (hasPrefix "auth." (first .)) -}}
{{- $other := first . | trimPrefix "auth." -}}
{{- $name := last . | trimPrefix "auth." -}}
{{- if hasKey $sections $other -}}
{{- if hasKey $sections $name -}}
{{- fail (printf "config.%s: is another name of `config.%s`, which is set as well: keep one of them" (first .) (last .)) -}}
{{- end -}}
{{- $_ := set $sections $name (get $sections $other) -}}
{{- $_ := unset $sections $other -}}
{{- end -}}
{{- end -}}
{{- toYaml $config -}}
{{- end }}

{{/* svc.yaml for the pods: `config`, with the values that the chart fills in. */}}
{{- define "svc.config" -}}
{{- $config := include "svc.sections" . | fromYaml -}}
{{- $server := $config.server | default dict -}}
{{- if not (hasKey $server "data_dir") -}}
{{- $_ := set $server "data_dir" "/data" -}}
{{- end -}}
{{- $address := include "svc.publicAddress" . -}}
{{- if $address -}}
{{- if not (hasKey $server "base_url") -}}
{{- $_ := set $server "base_url" $address -}}
{{- end -}}
{{- if not (hasKey $server "trust_proxy") -}}
{{- $_ := set $server "trust_proxy" true -}}
{{- end -}}
{{- end -}}
{{- $_ := set $config "server" $server -}}
{{- toYaml $config -}}
{{- end }}

{{/* Where people and webhooks reach svc; empty when the chart publishes nothing. */}}
{{- define "svc.publicAddress" -}}
{{- if .Values.ingress.enabled -}}
{{- printf "%s://%s" (ternary "https" "http" .Values.ingress.tls) .Values.ingress.host -}}
{{- else if .Values.httpRoute.enabled -}}
{{- if not .Values.httpRoute.hostnames -}}
{{- fail "httpRoute.hostnames: list the names under which GitHub, GitLab and people reach svc; links begin with the first" -}}
{{- end -}}
{{- printf "https://%s" (first .Values.httpRoute.hostnames) -}}
{{- end -}}
{{- end }}

{{- define "svc.port" -}}
{{- (.Values.config.server | default dict).port | default 4141 | int -}}
{{- end }}

{{/* Empty when metrics are off. */}}
{{- define "svc.metricsPort" -}}
{{- with (.Values.config.server | default dict).metrics_port }}{{ int . }}{{ end -}}
{{- end }}

{{/* "true" if the processes share a store. */}}
{{- define "svc.shared" -}}
{{- with (include "svc.sections" . | fromYaml).kvstore }}{{ if or .address .sentinel .cluster }}true{{ end }}{{ end -}}
{{- end }}

{{/* The number of processes, with autoscaling the lowest. */}}
{{- define "svc.replicas" -}}
{{- $shared := eq (include "svc.shared" .) "true" -}}
{{- $scaling := .Values.autoscaling -}}
{{- if $scaling.enabled -}}
{{- if not $shared -}}
{{- fail "autoscaling.enabled: several processes need a common store, or two of them deploy over each other; set config.redis.address" -}}
{{- end -}}
{{- if not (kindIs "invalid" .Values.replicas) -}}
{{- fail "replicas: autoscaling.enabled is set as well; use one of them" -}}
{{- end -}}
{{- if gt (int $scaling.minReplicas) (int $scaling.maxReplicas) -}}
{{- fail (printf "autoscaling.minReplicas: %d is more than autoscaling.maxReplicas, %d" (int $scaling.minReplicas) (int $scaling.maxReplicas)) -}}
{{- end -}}
{{- end -}}
{{- $replicas := ternary 2 1 $shared -}}
{{- if $scaling.enabled -}}
{{- $replicas = int $scaling.minReplicas -}}
{{- else if not (kindIs "invalid" .Values.replicas) -}}
{{- $replicas = int .Values.replicas -}}
{{- end -}}
{{- if and (gt $replicas 1) (not $shared) -}}
{{- fail (printf "replicas: %d processes need a common store, or two of them deploy over each other; set config.redis.address, or replicas to 1" $replicas) -}}
{{- end -}}
{{- $replicas -}}
{{- end }}

{{/* server.shutdown_grace in whole seconds. */}}
{{- define "svc.shutdownSeconds" -}}
{{- $grace := (.Values.config.server | default dict).shutdown_grace | default "25s" -}}
{{- if not (regexMatch "^([0-9]+(ms|s|m|h))+$" $grace) -}}
{{- fail "config.server.shutdown_grace: write the duration here, such as 25s or 1m30s; the pod's own grace time follows it" -}}
{{- end -}}
{{- $units := dict "ms" 1 "s" 1000 "m" 60000 "h" 3600000 -}}
{{- $total := 0 -}}
{{- range regexFindAll "[0-9]+(ms|s|m|h)" $grace -1 -}}
{{- $total = add $total (mul (regexFind "[0-9]+" .) (get $units (regexFind "[a-z]+" .))) -}}
{{- end -}}
{{- div (add $total 999) 1000 -}}
{{- end }}

{{/* The ports behind all addresses of `config`, as a list in JSON. */}}
{{- define "svc.urlPorts" -}}
{{- $config := include "svc.sections" . | fromYaml -}}
{{- $auth := $config.auth | default dict -}}
{{- $hosta := $config.hosta | default dict -}}
{{- $hostb := $config.hostb | default dict -}}
{{- $urls := list $config.deployer.server_url $hosta.api_url $hosta.web_url $hostb.url -}}
{{- $urls = concat $urls (list ($auth.hostb | default dict).url ($auth.oidc | default dict).issuer_url) -}}
{{- range $config.notifications }}{{ $urls = append $urls .url }}{{ end -}}
{{- $ports := list 443 -}}
{{- range compact $urls -}}
{{- /* Not urlParse: it takes no ${NAME} in the place of a host or port. */ -}}
{{- $port := regexFind "^[^/]*//[^/?#]*" . | regexFind ":[0-9]+$" | regexFind "[0-9]+$" -}}
{{- $ports = append $ports (int ($port | default (ternary "80" "443" (hasPrefix "http://" (lower .))))) -}}
{{- end -}}
{{- uniq $ports | toJson -}}
{{- end }}

{{/* The ports behind all addresses of Redis, as a list in JSON. Sentinels name a master whose port only they know. */}}
{{- define "svc.storePorts" -}}
{{- $store := (include "svc.sections" . | fromYaml).kvstore | default dict -}}
{{- $ports := list -}}
{{- if $store.sentinel }}{{ $ports = append $ports 6379 }}{{ end -}}
{{- $addresses := concat (list $store.address) (($store.sentinel | default dict).addresses | default list) (($store.cluster | default dict).addresses | default list) -}}
{{- range compact $addresses -}}
{{- $ports = append $ports (int (regexFind "[0-9]+$" (regexFind ":[0-9]+$" .) | default "6379")) -}}
{{- end -}}
{{- uniq $ports | toJson -}}
{{- end }}
