package workload_test

import (
	"testing"

	"github.com/akash-net/kubectl-akash-net/lease/workload"
)

func TestMade(t *testing.T) {
	for _, tt := range []struct {
		service, kind, name string
		want                bool
	}{
		{"web", "Deployment", "web", true},
		{"web", "Deployment", "web-api", false},
		{"web", "Deployment", "we", false},
		{"web", "StatefulSet", "web", true},
		{"web", "ReplicaSet", "web-7d4b9c6f5b", true},
		{"web", "ReplicaSet", "web-api-7d4b9c6f5b", false},
		{"web-api", "ReplicaSet", "web-api-7d4b9c6f5b", true},
		{"web", "ReplicaSet", "web-api", false}, // hashes have no vowels
		{"web", "Pod", "web-7d4b9c6f5b-x2x9q", true},
		{"web", "Pod", "web-api-7d4b9c6f5b-x2x9q", false},
		{"web", "Pod", "web-7d4b9c6f5b", false},
		{"web", "Pod", "web-0", true},
		{"web", "Pod", "web-12", true},
		{"web", "Pod", "web-api-0", false},
		{"web-api", "Pod", "web-api-0", true},
		{"web", "Pod", "web", false},
		{"web", "Service", "web", true},
		{"web", "Service", "web-np", true},
		{"web", "Service", "web-ip-443-tcp", true},
		{"web", "Service", "web-ip-443-sctp", false},
		{"web", "Service", "web-api-np", false},
		{"db", "PersistentVolumeClaim", "db-data-db-0", true},
		{"db", "PersistentVolumeClaim", "db-my-data-db-11", true},
		{"db", "PersistentVolumeClaim", "db-data-web-0", false},
		{"db", "PersistentVolumeClaim", "db-data-db", false},
		{"db", "PersistentVolumeClaim", "web-data-db-0", false},
		{"web", "Node", "web", false},
		{"", "Deployment", "web", false},
		{"web", "Pod", "", false},
	} {
		if got := workload.Made(tt.service, tt.kind, tt.name); got != tt.want {
			t.Errorf("%s %q of service %q: %t", tt.kind, tt.name, tt.service, got)
		}
	}
}
