{{- define "mainspring.name" -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- end -}}

{{- define "mainspring.image" -}}
{{ .Values.image.repository }}:{{ default .Chart.AppVersion .Values.image.tag }}
{{- end -}}

{{- define "mainspring.labels" -}}
app.kubernetes.io/name: mainspring
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{/* Restrictions of every container: the user of the image, no rights, a read-only root. */}}
{{- define "mainspring.restricted" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: { drop: [ALL] }
{{- end -}}

{{- define "mainspring.podSecurity" -}}
runAsNonRoot: true
runAsUser: 10001
runAsGroup: 10001
fsGroup: 10001
seccompProfile: { type: RuntimeDefault }
{{- end -}}

{{- define "mainspring.scheme" -}}
{{ if .Values.tls.certManager.enabled }}HTTPS{{ else }}HTTP{{ end }}
{{- end -}}
