{{- define "pitstop.name" -}}
{{ .Release.Name | trunc 50 | trimSuffix "-" }}-operator
{{- end }}

{{- define "pitstop.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{- define "pitstop.selector" -}}
app.kubernetes.io/name: pitstop-operator
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "pitstop.labels" -}}
{{ include "pitstop.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}
