{{/*
Refuses a secret that stands in `config` itself: it would end in a ConfigMap, which many may read. The message names the
key and not the value.
*/}}
{{- define "svc.refuseSecrets" -}}
{{- $paths := list
  "redis.password" "redis.sentinel.password" "kvstore.password" "kvstore.sentinel.password"
  "argocd.token" "deployer.token"
  "github.private_key" "github.webhook_secret" "hosta.private_key" "hosta.webhook_secret"
  "gitlab.token" "gitlab.webhook_secret" "gitlab.signing_token" "hostb.token" "hostb.webhook_secret" "hostb.signing_token"
  "auth.github.client_secret" "auth.gitlab.client_secret" "auth.hosta.client_secret" "auth.hostb.client_secret"
  "auth.session_secret" "auth.oidc.client_secret" -}}
{{- range $path := $paths -}}
{{- $value := $.Values.config -}}
{{- range splitList "." $path -}}
{{- $value = ternary (get ($value | default dict) .) nil (kindIs "map" $value) -}}
{{- end -}}
{{- include "svc.refuseSecret" (dict "path" $path "value" $value) -}}
{{- end -}}
{{- with ((.Values.config.auth | default dict).basic | default dict).users -}}
{{- range $index, $user := . -}}
{{- include "svc.refuseSecret" (dict "path" (printf "auth.basic.users[%d].password" $index) "value" $user.password) -}}
{{- end -}}
{{- end -}}
{{- range $index, $receiver := .Values.config.notifications -}}
{{- include "svc.refuseSecret" (dict "path" (printf "notifications[%d].secret" $index) "value" $receiver.secret) -}}
{{- /* The address of a chat's webhook lets anybody post there. */ -}}
{{- if ne (toString $receiver.format) "json" -}}
{{- include "svc.refuseSecret" (dict "path" (printf "notifications[%d].url" $index) "value" $receiver.url) -}}
{{- end -}}
{{- end -}}
{{- end }}

{{/* The App's private key may be a file instead of a variable. */}}
{{- define "svc.refuseSecret" -}}
{{- $file := and (has .path (list "github.private_key" "hosta.private_key")) (hasPrefix "/" (toString .value)) -}}
{{- if not (or (empty .value) $file (regexMatch "^\\$\\{[A-Za-z_][A-Za-z0-9_]*\\}$" (toString .value))) -}}
{{- fail (printf "config.%s: write ${NAME} here and put the value into the Secret as NAME; what stands in config ends in a ConfigMap" .path) -}}
{{- end -}}
{{- end }}

{{/* The variables that come from the Secret, as a list in JSON: each ${NAME} of `config` that `env` does not set. */}}
{{- define "svc.secretVariables" -}}
{{- $names := .Values.secretEnv -}}
{{- range regexFindAll "\\$?\\$\\{[A-Za-z_][A-Za-z0-9_]*\\}" (toYaml .Values.config) -1 -}}
{{- if not (hasPrefix "$$" .) -}}
{{- $names = append $names (trimSuffix "}" (trimPrefix "${" .)) -}}
{{- end -}}
{{- end -}}
{{- $wanted := list -}}
{{- range $names | uniq | sortAlpha -}}
{{- if not (hasKey $.Values.env .) -}}
{{- $wanted = append $wanted . -}}
{{- if not (or $.Values.existingSecret (hasKey $.Values.secret .)) -}}
{{- fail (printf "secret.%s: config uses ${%s}; name the Secret that holds it in existingSecret, or set it here or in env" . .) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if and .Values.existingSecret .Values.secret -}}
{{- fail "secret: existingSecret is set as well; use one of them" -}}
{{- end -}}
{{- toJson $wanted -}}
{{- end }}
