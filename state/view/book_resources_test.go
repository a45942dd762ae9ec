package view

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/state/inventory"
)

// Capacity is the same from files as from a cluster.
func TestResources(t *testing.T) {
	var c Contents
	for _, text := range []string{
		`{apiVersion: v1, kind: Node, metadata: {name: n1}, status: {allocatable: {cpu: "4", memory: 8Gi, ephemeral-storage: 10Gi, nvidia.com/gpu: "2"}, conditions: [{type: Ready, status: "True"}]}}`,
		`{apiVersion: v1, kind: Node, metadata: {name: n2}, spec: {unschedulable: true}, status: {allocatable: {cpu: "64"}, conditions: [{type: Ready, status: "True"}]}}`,
		`{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: lease-a}, spec: {nodeName: n1, containers: [{name: c, resources: {requests: {cpu: "1", nvidia.com/gpu: "1"}}}]}}`,
		`{apiVersion: v1, kind: Namespace, metadata: {name: lease-a, labels: {akash.network/lease.id.owner: akash1h24fljt7p0nh82cq0za0uhsct3sfwsfu9w3c9h, akash.network/lease.id.dseq: "7", akash.network/lease.id.gseq: "1", akash.network/lease.id.oseq: "1", akash.network/lease.id.provider: akash1nxq8gmsw2vlz3m68qvyvcf3kh6q269ajvqw6y0}}}`,
		`{apiVersion: v1, kind: Service, metadata: {name: web-np, namespace: lease-a}, spec: {type: NodePort, ports: [{port: 53, nodePort: 31000}, {port: 54, nodePort: 31001}]}}`,
		`{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: beta2}, provisioner: d}`,
		`{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: fast}, provisioner: d}`,
		`{apiVersion: storage.k8s.io/v1, kind: CSIStorageCapacity, metadata: {name: c, namespace: x}, storageClassName: beta2, capacity: 3Gi, nodeTopology: {}}`,
		`{apiVersion: v1, kind: PersistentVolume, metadata: {name: v}, spec: {storageClassName: beta2, capacity: {storage: 1Gi}}, status: {phase: Bound}}`,
		`{apiVersion: v1, kind: Node, metadata: {name: broken}, status: {allocatable: 7}}`,
		`{apiVersion: metallb.io/v1beta1, kind: IPAddressPool, metadata: {name: pool}, spec: {addresses: [203.0.113.0/30]}}`,
	} {
		c.Add(objectOf(t, text), "akash-net")
	}
	c.Capacity.Reserve("akash1h24fljt7p0nh82cq0za0uhsct3sfwsfu9w3c9h/7/1/1", inventory.Hold{Nodes: map[string]inventory.Amounts{"n1": {CPU: 3000}}, Addresses: 1, NodePorts: 3})
	cfg := config.Default()
	cfg.IP.Mode, cfg.IP.Pool = config.ModePool, "pool"
	cfg.Workloads.NodePorts = config.PortRange{First: 31000, Last: 31999}
	cfg.CommitLevels.CPU, cfg.CommitLevels.GPU, cfg.CommitLevels.Memory = 1.5, 2, math.MaxFloat64
	const gi = 1 << 30
	want := []ResourceRow{
		{Of: "cluster", Resource: "cpu", Allocatable: 4000, Committed: 6000, InUse: 1000, Reserved: 2000, Available: 1000},
		{Of: "cluster", Resource: "memory", Allocatable: 8 * gi, Committed: math.MaxUint64, Available: 8 * gi},
		{Of: "cluster", Resource: "ephemeral-storage", Allocatable: 10 * gi, Committed: 10 * gi, Available: 10 * gi},
		{Of: "cluster", Resource: "gpu", Allocatable: 2, Committed: 4, InUse: 1, Available: 1},
		{Of: "cluster", Resource: "addresses", Allocatable: 4, Committed: 4, Reserved: 1, Available: 3},
		{Of: "cluster", Resource: "node-ports", Allocatable: 1000, Committed: 1000, InUse: 2, Reserved: 1, Available: 997},
		{Of: "class", Name: "beta2", Resource: "storage", Allocatable: 4 * gi, Committed: 4 * gi, InUse: gi, Available: 3 * gi},
		{Of: "class", Name: "fast", Resource: "storage", Allocatable: math.MaxUint64, Committed: math.MaxUint64, Available: math.MaxUint64, Unlimited: true},
		{Of: "node", Name: "n1", Resource: "cpu", Allocatable: 4000, Committed: 6000, InUse: 1000, Reserved: 2000, Available: 1000},
		{Of: "node", Name: "n1", Resource: "memory", Allocatable: 8 * gi, Committed: math.MaxUint64, Available: 8 * gi},
		{Of: "node", Name: "n1", Resource: "ephemeral-storage", Allocatable: 10 * gi, Committed: 10 * gi, Available: 10 * gi},
		{Of: "node", Name: "n1", Resource: "gpu", Allocatable: 2, Committed: 4, InUse: 1, Available: 1},
		{Of: "node", Name: "n2", Resource: "cpu", Allocatable: 64000, Committed: 96000, Message: "takes no leases: it is cordoned"},
		{Of: "node", Name: "n2", Resource: "memory", Message: "takes no leases: it is cordoned"},
		{Of: "node", Name: "n2", Resource: "ephemeral-storage", Message: "takes no leases: it is cordoned"},
	}
	if diff := cmp.Diff(want, NewBook(cfg, c, SubjectResources).Resources); diff != "" {
		t.Error(diff)
	}
	if rows := NewBook(cfg, Contents{}, SubjectResources).Resources; len(rows) != 5 {
		t.Errorf("of nothing there is %v", rows)
	}
}
