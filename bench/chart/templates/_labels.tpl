{{- define "labels" -}}
akash.network: "true"
akash.network/lease.id.owner: {{ .owner }}
akash.network/lease.id.provider: {{ .provider }}
akash.network/lease.id.dseq: {{ int64 .dseq | quote }}
akash.network/lease.id.gseq: {{ int64 .gseq | quote }}
akash.network/lease.id.oseq: {{ int64 .oseq | quote }}
{{- end -}}
