package workload_test

import (
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/resources"
)

// good is a definition of one service with a volume of each kind.
func good() *lease.Definition {
	attributes := func(class, persistent string) []resources.Attribute {
		return []resources.Attribute{{Key: "class", Value: class}, {Key: "persistent", Value: persistent}}
	}
	return &lease.Definition{
		Services: []lease.Service{{Name: "web", Expose: []lease.Expose{{Port: 81, Protocol: lease.TCP, Global: true}}}},
		Workloads: &lease.Workloads{Services: []lease.Workload{{
			Name: "web", Image: "nginx", Count: 1, Env: []string{"A=b"},
			Resources: resources.Resources{ID: 1, CPU: 100, Volumes: []resources.Volume{
				{Name: "default"}, {Name: "shm", Attributes: attributes("ram", "false")}, {Name: "data", Attributes: attributes("beta2", "true")},
			}},
			Params:      &lease.Params{Storage: []lease.Mount{{Volume: "data", Path: "/data"}, {Volume: "shm", Path: "/dev/shm"}}, Permissions: &lease.Permissions{Read: []string{"logs"}}},
			Credentials: &lease.Credentials{Host: "ghcr.io", Username: "bob"},
		}}},
	}
}
