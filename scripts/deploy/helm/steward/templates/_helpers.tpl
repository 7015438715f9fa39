{{- define "steward.name" -}}
{{ eq .Chart.Name .Release.Name | ternary .Release.Name (printf "%s-%s" .Release.Name .Chart.Name) | trunc 50 | trimSuffix "-" }}
{{- end }}

{{- /* Labels of an object. Takes (dict "root" $ "component" "server"); the component may be absent. */ -}}
{{- define "steward.labels" -}}
{{ include "steward.selector" . }}
app.kubernetes.io/version: {{ .root.Values.image.tag | default .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ .root.Chart.Name }}-{{ .root.Chart.Version }}
{{- end }}

{{- define "steward.selector" -}}
app.kubernetes.io/name: steward
app.kubernetes.io/instance: {{ .root.Release.Name }}
{{- with .component }}
app.kubernetes.io/component: {{ . }}
{{- end }}
{{- end }}

{{- define "steward.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{- define "steward.serviceAccount" -}}
{{ .Values.serviceAccount.name | default (.Values.serviceAccount.create | ternary (include "steward.name" .) "default") }}
{{- end }}

{{- define "steward.secret" -}}
{{ .Values.secrets.existingSecret | default (include "steward.name" .) }}
{{- end }}

{{- /* JSON array of the secret settings. */ -}}
{{- define "steward.secretNames" -}}
{{ empty .Values.secrets.existingSecret | ternary (keys .Values.secrets.values | sortAlpha) .Values.secrets.names | toJson }}
{{- end }}

{{- /* Takes (dict "root" $ "jobs" N); without jobs, the service's default applies. */ -}}
{{- define "steward.env" -}}
{{- $env := dict "KV_PATH" ":memory:" }}
{{- with .root.Values.extensions }}{{ $_ := set $env "STEWARD_EXTENSIONS" (join "," .) }}{{ end }}
{{- range include "steward.secretNames" .root | fromJsonArray }}
{{- $_ := set $env (printf "%s_FILE" .) (printf "/run/secrets/steward/%s" .) }}
{{- end }}
{{- if hasKey . "jobs" }}{{ $_ := set $env "JOB_CONCURRENCY" .jobs }}{{ end }}
{{- range $name, $value := mergeOverwrite $env (omit .root.Values.env (hasKey . "jobs" | ternary "JOB_CONCURRENCY" "")) }}
- name: {{ $name }}
  value: {{ $value | toString | quote }}
{{- end }}
{{- end }}

{{- define "steward.podSettings" -}}
automountServiceAccountToken: false
{{- range $name := list "imagePullSecrets" "nodeSelector" "tolerations" "affinity" "topologySpreadConstraints" }}
{{- with get $.Values $name }}
{{ $name }}: {{ toJson . }}
{{- end }}
{{- end }}
securityContext: {{ toJson .Values.podSecurityContext }}
volumes:
  - name: secrets
    secret: { secretName: {{ include "steward.secret" . }}, defaultMode: 0440 }
{{- end }}

{{- define "steward.containerSettings" -}}
image: {{ include "steward.image" . | quote }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext: {{ toJson .Values.securityContext }}
volumeMounts: [{ name: secrets, mountPath: /run/secrets/steward, readOnly: true }]
{{- end }}

{{- /* A Deployment. Takes (dict "root" $ "component" "server" "name" … "replicas" N "resources" … ["jobs" N]). */ -}}
{{- define "steward.deployment" -}}
{{- $values := .root.Values -}}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ .name }}
  labels: {{- include "steward.labels" . | nindent 4 }}
spec:
  {{- if hasKey . "replicas" }}
  replicas: {{ .replicas }}
  {{- end }}
  strategy: { rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } }
  selector:
    matchLabels: {{- include "steward.selector" . | nindent 6 }}
  template:
    metadata:
      labels: {{- include "steward.labels" . | nindent 8 }}
      {{- $checksum := $values.secrets.values | toJson | sha256sum }}
      annotations: {{ mergeOverwrite (dict "checksum/secrets" $checksum) $values.podAnnotations | toJson }}
    spec:
      serviceAccountName: {{ include "steward.serviceAccount" .root }}
      {{- include "steward.podSettings" .root | nindent 6 }}
      terminationGracePeriodSeconds: {{ $values.terminationGracePeriodSeconds }}
      containers:
        - name: steward
          {{- include "steward.containerSettings" .root | nindent 10 }}
          ports: [{ name: http, containerPort: 8000 }]
          env: {{- include "steward.env" . | trim | nindent 12 }}
          resources: {{ toJson .resources }}
          startupProbe: {{ toJson $values.probes.startup }}
          livenessProbe: {{ toJson $values.probes.liveness }}
          readinessProbe: {{ toJson $values.probes.readiness }}
          lifecycle: { preStop: { exec: { command: [sleep, {{ $values.preStopSeconds | quote }}] } } }
{{- end }}
