{{/* The container's `env`, or nothing. */}}
{{- define "svc.environment" -}}
{{- $secret := include "svc.secretVariables" . | fromJsonArray -}}
{{- $trusted := .Values.trustedCertificates -}}
{{- if or $secret .Values.env $trusted.configMap -}}
env:
  {{- range $name, $value := .Values.env }}
  - name: {{ $name }}
    value: {{ $value | quote }}
  {{- end }}
  {{- range $secret }}
  - name: {{ . }}
    valueFrom:
      secretKeyRef:
        name: {{ include "svc.secretName" $ }}
        key: {{ . }}
  {{- end }}
  {{- if $trusted.configMap }}
  - name: NODE_EXTRA_CA_CERTS
    value: /etc/svc-certificates/{{ $trusted.key }}
  {{- if $trusted.git }}
  - name: GIT_SSL_CAINFO
    value: /etc/svc-certificates/{{ $trusted.key }}
  {{- end }}
  {{- end }}
{{- end -}}
{{- end }}
