package view

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"pgregory.net/rapid"

	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/state/statetest"
)

const labelsOfLease = `akash.network: "true", akash.network/namespace: ns, akash.network/lease.id.owner: akash1h24fljt7p0nh82cq0za0uhsct3sfwsfu9w3c9h, akash.network/lease.id.dseq: "7", akash.network/lease.id.gseq: "1", akash.network/lease.id.oseq: "1", akash.network/lease.id.provider: akash1nxq8gmsw2vlz3m68qvyvcf3kh6q269ajvqw6y0`

// sensible are valid objects of each kind in the book.
var sensible = []string{
	`{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: shop.example.com, namespace: ns, labels: {` + labelsOfLease + `}}, spec: {tls: [{hosts: [shop.example.com]}], rules: [{host: shop.example.com, http: {paths: [{path: /, backend: {service: {name: web, port: {number: 80}}}}]}}]}, status: {loadBalancer: {ingress: [{ip: 203.0.113.1}]}}}`,
	`{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: shop.example.com, namespace: ns, labels: {` + labelsOfLease + `}}, spec: {hostnames: [shop.example.com], parentRefs: [{name: gw}], rules: [{matches: [{path: {type: PathPrefix, value: /}}], backendRefs: [{name: web, port: 80}]}]}, status: {parents: [{parentRef: {name: gw}, controllerName: x, conditions: [{type: Accepted, status: "True"}]}]}}`,
	`{apiVersion: gateway.networking.k8s.io/v1, kind: TLSRoute, metadata: {name: tls.example.com, namespace: ns, labels: {` + labelsOfLease + `}}, spec: {hostnames: [tls.example.com], rules: [{backendRefs: [{name: web, port: 443}]}]}}`,
	`{apiVersion: route.openshift.io/v1, kind: Route, metadata: {name: shop.example.com, namespace: ns, labels: {` + labelsOfLease + `}}, spec: {host: shop.example.com, path: /, wildcardPolicy: None, tls: {termination: edge}, to: {kind: Service, name: web}, port: {targetPort: 80}}, status: {ingress: [{host: shop.example.com, routerName: default, conditions: [{type: Admitted, status: "True"}]}]}}`,
	`{apiVersion: akash.network/v2beta2, kind: ProviderHost, metadata: {name: shop.example.com, namespace: lease, labels: {` + labelsOfLease + `}}, spec: {hostname: shop.example.com, owner: akash1h24fljt7p0nh82cq0za0uhsct3sfwsfu9w3c9h, dseq: 7, gseq: 1, oseq: 1, provider: akash1nxq8gmsw2vlz3m68qvyvcf3kh6q269ajvqw6y0, service_name: web, external_port: 80}}`,
	`{apiVersion: akash.network/v2beta2, kind: ProviderLeasedIP, metadata: {name: k-tcp-443, namespace: lease, labels: {` + labelsOfLease + `}}, spec: {lease_id: {owner: akash1h24fljt7p0nh82cq0za0uhsct3sfwsfu9w3c9h, dseq: "7", gseq: 1, oseq: 1, provider: akash1nxq8gmsw2vlz3m68qvyvcf3kh6q269ajvqw6y0}, service_name: web, port: 8443, external_port: 443, sharing_key: k, protocol: TCP}}`,
	`{apiVersion: v1, kind: Service, metadata: {name: web-ip-443-tcp, namespace: ns, labels: {akash.network/service-target: metal-lb, ` + labelsOfLease + `}, annotations: {metallb.io/allow-shared-ip: k, metallb.io/loadBalancerIPs: 203.0.113.0}}, spec: {type: LoadBalancer, selector: {akash.network/manifest-service: web}, ports: [{port: 443, targetPort: 8443, protocol: TCP}]}, status: {loadBalancer: {ingress: [{ip: 203.0.113.0}]}}}`,
	`{apiVersion: v1, kind: Service, metadata: {name: web, namespace: ns}, spec: {ports: [{name: http, port: 80, targetPort: 8080}]}}`,
	`{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {name: web-1, namespace: ns, labels: {kubernetes.io/service-name: web}}, addressType: IPv4, ports: [{name: http, port: 8080, protocol: TCP}], endpoints: [{addresses: [10.0.0.1], conditions: {ready: true}, targetRef: {kind: Pod, name: web-0, uid: x}}]}`,
	`{apiVersion: metallb.io/v1beta1, kind: IPAddressPool, metadata: {name: pool, namespace: metallb-system}, spec: {addresses: [203.0.113.0/28, 2001:db8::-2001:db8::ff]}, status: {assignedIPv4: 1, availableIPv4: 15, assignedIPv6: 0, availableIPv6: 256}}`,
	`{apiVersion: extensions.gardener.cloud/v1alpha1, kind: DNSRecord, metadata: {name: r, namespace: ns, labels: {` + labelsOfLease + `}}, spec: {name: shop.example.com, recordType: A, values: [203.0.113.1], ttl: 60}, status: {lastOperation: {state: Succeeded, progress: 100}}}`,
	`{apiVersion: externaldns.k8s.io/v1alpha1, kind: DNSEndpoint, metadata: {name: r, namespace: ns, labels: {` + labelsOfLease + `}}, spec: {endpoints: [{dnsName: shop.example.com, recordType: A, targets: [203.0.113.1], recordTTL: 60}]}}`,
	`{apiVersion: coordination.k8s.io/v1, kind: Lease, metadata: {name: shop.example.com, namespace: akash-net, labels: {net.akash.network/kind: host, net.akash.network/owner: akash1h24fljt7p0nh82cq0za0uhsct3sfwsfu9w3c9h}, annotations: {net.akash.network/ledger: v1, route.net.akash.network/x: '{"lease":"akash1h24fljt7p0nh82cq0za0uhsct3sfwsfu9w3c9h/7/1/1/akash1nxq8gmsw2vlz3m68qvyvcf3kh6q269ajvqw6y0","service":"web","port":80}'}}}`,
	`{apiVersion: coordination.k8s.io/v1, kind: Lease, metadata: {name: ip--203-0-113-0, namespace: akash-net, labels: {net.akash.network/kind: address, net.akash.network/owner: akash1h24fljt7p0nh82cq0za0uhsct3sfwsfu9w3c9h}, annotations: {net.akash.network/ledger: v1, net.akash.network/sharing-key: k, port.net.akash.network/tcp-443: '{"lease":"akash1h24fljt7p0nh82cq0za0uhsct3sfwsfu9w3c9h/7/1/1/akash1nxq8gmsw2vlz3m68qvyvcf3kh6q269ajvqw6y0","service":"web","port":8443}'}}}`,
	`{apiVersion: coordination.k8s.io/v1, kind: Lease, metadata: {name: run--n0nce, namespace: akash-net, labels: {net.akash.network/kind: run}, annotations: {net.akash.network/ledger: v1, net.akash.network/phase: active, net.akash.network/groups: akash1h24fljt7p0nh82cq0za0uhsct3sfwsfu9w3c9h/7/1}}, spec: {holderIdentity: ann@laptop, leaseDurationSeconds: 15, acquireTime: "2026-11-18T09:00:00.000000Z", renewTime: "2026-11-18T09:00:00.000000Z"}}`,
	`{apiVersion: coordination.k8s.io/v1, kind: Lease, metadata: {name: rs--x, namespace: akash-net, labels: {net.akash.network/kind: resources}, annotations: {net.akash.network/ledger: v1, net.akash.network/bound: '{"asked":"a","hold":{}}'}}}`,
	`{apiVersion: v1, kind: Namespace, metadata: {name: ns, labels: {` + labelsOfLease + `}}}`,
	`{apiVersion: v1, kind: Node, metadata: {name: n1, labels: {akash.network/capabilities.gpu.vendor.nvidia.model.t4: "1"}}, spec: {taints: [{key: a, effect: NoSchedule}]}, status: {allocatable: {cpu: "4", memory: 8Gi, nvidia.com/gpu: "1"}, conditions: [{type: Ready, status: "True"}]}}`,
	`{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: ns, labels: {akash.network: "true", akash.network/manifest-service: web}}, spec: {nodeName: n1, containers: [{name: c, resources: {requests: {cpu: "1"}}}], volumes: [{name: v, emptyDir: {medium: Memory, sizeLimit: 1Gi}}]}, status: {phase: Pending, containerStatuses: [{name: c, state: {waiting: {reason: ErrImagePull}}}]}}`,
	`{apiVersion: v1, kind: PersistentVolume, metadata: {name: v}, spec: {storageClassName: beta2, capacity: {storage: 1Gi}, claimRef: {namespace: ns}}, status: {phase: Bound}}`,
	`{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: beta2, annotations: {storageclass.kubernetes.io/is-default-class: "true"}}, provisioner: d}`,
	`{apiVersion: storage.k8s.io/v1, kind: CSIStorageCapacity, metadata: {name: c, namespace: x}, storageClassName: beta2, capacity: 3Gi, nodeTopology: {matchLabels: {zone: a}}}`,
	`{apiVersion: akash.network/v2beta2, kind: Manifest, metadata: {name: ns, namespace: lease, labels: {` + labelsOfLease + `}}, spec: {group: {services: [{name: web, count: 1}]}}}`,
	`{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: ns, labels: {akash.network: "true"}}, spec: {replicas: 1}, status: {availableReplicas: 1, conditions: [{type: Available, status: "True"}]}}`,
	`{apiVersion: v1, kind: Event, metadata: {name: e, namespace: ns}, type: Warning, reason: FailedCreate, message: m, involvedObject: {kind: StatefulSet, name: db}, lastTimestamp: "2026-11-18T09:00:00Z"}`,
}

// spoil changes one thing in a tree: it removes it or replaces it with something unexpected.
func spoil(t *rapid.T, v any) any {
	absurd := []any{nil, "", "\x00\xff", "*", "-1", "shop.example.com", int64(-1), int64(1) << 62, 1e300, true, []any{}, []any{nil}, []any{[]any{}}, map[string]any{}, map[string]any{"": nil}}
	switch v := v.(type) {
	case map[string]any:
		if keys := sortedOf(v); len(keys) > 0 && rapid.IntRange(0, 5).Draw(t, "deeper") > 0 {
			key := rapid.SampledFrom(keys).Draw(t, "key")
			if rapid.IntRange(0, 4).Draw(t, "drop") == 0 {
				delete(v, key)
			} else {
				v[key] = spoil(t, v[key])
			}
			return v
		}
	case []any:
		if len(v) > 0 && rapid.IntRange(0, 5).Draw(t, "deeper") > 0 {
			i := rapid.IntRange(0, len(v)-1).Draw(t, "item")
			if v[i] = spoil(t, v[i]); rapid.Bool().Draw(t, "twice") {
				v = append(v, runtime.DeepCopyJSONValue(v[i]))
			}
			return v
		}
	}
	return rapid.SampledFrom(absurd).Draw(t, "absurd")
}

func sortedOf(m map[string]any) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// Whatever others have written into objects, in a cluster or in files, the book contains what can be read, is the same
// each time, and can be printed, selected from and compared.
func TestAbsurdObjects(t *testing.T) {
	var objects []map[string]any
	for _, text := range sensible {
		objects = append(objects, wordObject(t, text).Object)
	}
	subjects := append(slices.Clone(Subjects), SubjectResources, SubjectOrders, SubjectDNS, SubjectWorkloads, SubjectEndpoints)
	outer := t
	rapid.Check(t, func(t *rapid.T) {
		cfg := statetest.Config(outer, rapid.SampledFrom([]string{config.ModeRange, config.ModeDedicated, config.ModePool}).Draw(t, "mode"), "203.0.113.0/28", "2001:db8::/120")
		cfg.Hosts.Wildcards = rapid.Bool().Draw(t, "wildcards")
		var given []*unstructured.Unstructured
		for _, i := range rapid.SliceOfNDistinct(rapid.IntRange(0, len(objects)-1), 1, len(objects), rapid.ID).Draw(t, "objects") {
			o := runtime.DeepCopyJSON(objects[i])
			for _, part := range []string{"metadata", "spec", "status", "storageClassName", "addressType", "ports", "endpoints"} {
				if rapid.IntRange(0, 3).Draw(t, part) == 0 {
					o[part] = spoil(t, o[part])
				}
			}
			given = append(given, &unstructured.Unstructured{Object: o})
		}
		made := func() *Book {
			in := Contents{Now: statetest.Minute(10)}
			for _, o := range given {
				in.Add(o.DeepCopy(), "akash-net")
			}
			return NewBook(cfg, in, subjects...)
		}
		one, two := made(), made()
		a, err := json.Marshal(one)
		b, err2 := json.Marshal(two)
		if err != nil || err2 != nil || string(a) != string(b) {
			t.Fatalf("%v %v %s", err, err2, cmp.Diff(string(a), string(b)))
		}
		two.Changes(one)
		one.NextEnd(statetest.Minute(10))
		one.Select(labels.Everything(), "")
		if text, _ := json.Marshal(one); string(text) != string(b) {
			t.Error("all was selected, and something is missing")
		}
		one.Select(labels.SelectorFromSet(labels.Set{"none": "x"}), "")
	})
}
