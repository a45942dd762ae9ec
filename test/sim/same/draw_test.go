package same

import (
	"encoding/json"
	"fmt"
	"math/rand"
	"net/http"
	"strings"
)

// step is a request. What it is pinned to is a choice, for the objects of the two servers have other UIDs.
type step struct {
	method, path, query, content, accept string
	body                                 map[string]any
	patch                                []any
	uid, version                         pin
}

type pin int

// What a request is pinned to.
const (
	none pin = iota
	current
	former
	wrong
)

func (s step) String() string {
	body, _ := json.Marshal(s.body) // made of maps and texts
	return fmt.Sprintf("%s %s?%s %s %s%v uid %d version %d", s.method, s.path, s.query, s.content, body, s.patch, s.uid, s.version)
}

// drawing draws requests.
type drawing struct {
	*rand.Rand
	namespace string
}

func one[T any](d *drawing, of ...T) T { return of[d.Intn(len(of))] }

type resource struct {
	root, plural, version, kind string
	spec                        func(*drawing) map[string]any
}

var resources = []resource{
	{"/apis/coordination.k8s.io/v1", "leases", "coordination.k8s.io/v1", "Lease", func(d *drawing) map[string]any {
		return map[string]any{"holderIdentity": one(d, "a", "b")}
	}},
	{"/apis/akash.network/v2beta2", "providerhosts", "akash.network/v2beta2", "ProviderHost", func(d *drawing) map[string]any {
		return map[string]any{"owner": one(d, "a", "b"), "service_name": one(d, "web", "api"), "external_port": one(d, 80, 81)}
	}},
	{"/apis/networking.k8s.io/v1", "ingresses", "networking.k8s.io/v1", "Ingress", func(d *drawing) map[string]any {
		backend := map[string]any{"service": map[string]any{"name": one(d, "web", "api"), "port": map[string]any{"number": 80}}}
		return map[string]any{"ingressClassName": "nginx", "rules": []any{map[string]any{
			"host": one(d, "a.example.com", "b.example.com"), "http": map[string]any{"paths": []any{map[string]any{"path": "/", "pathType": "Prefix", "backend": backend}}},
		}}}
	}},
	{"/api/v1", "services", "v1", "Service", func(d *drawing) map[string]any {
		number, protocol := one(d, 80, 81), one(d, "TCP", "UDP")
		port := map[string]any{"name": fmt.Sprint(strings.ToLower(protocol), number), "port": number, "targetPort": one(d, 8080, 8081), "protocol": protocol}
		return map[string]any{"type": "LoadBalancer", "selector": map[string]any{"app": one(d, "a", "b")}, "ports": []any{port}}
	}},
}

const partial = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"

func (d *drawing) step() step {
	r := resources[0]
	if d.Intn(3) == 0 {
		r = one(d, resources[1:]...)
	}
	base := r.root + "/namespaces/" + d.namespace + "/" + r.plural
	name := one(d, "one", "two")
	s := step{path: base + "/" + name, accept: one(d, "application/json", partial)}
	object := func() map[string]any {
		meta := map[string]any{"name": name, "namespace": d.namespace}
		for _, in := range []string{"annotations", "labels"} {
			set := map[string]any{}
			for _, key := range []string{"k", "l", "m"} {
				if d.Intn(3) == 0 {
					set[key] = one(d, "x", "y")
				}
			}
			if len(set) > 0 {
				meta[in] = set
			}
		}
		if d.Intn(8) == 0 {
			meta["finalizers"] = []any{"example.com/" + one(d, "f", "g")}
		}
		o := map[string]any{"apiVersion": r.version, "kind": r.kind, "metadata": meta}
		if d.Intn(4) > 0 || r.kind == "Ingress" || r.kind == "Service" {
			o["spec"] = r.spec(d)
		}
		return o
	}
	manager := "fieldManager=" + one(d, "akash-net/a/1/1", "akash-net/a/2/1", "akash-net/b/1/1") + one(d, "", "", "", "&dryRun=All")
	pins := func() {
		s.uid, s.version = one(d, none, none, current, former, wrong), one(d, none, none, current, current, former, wrong)
	}
	switch d.Intn(12) {
	default:
		s.method, s.content, s.query, s.body = http.MethodPatch, "application/apply-patch+yaml", manager+one(d, "&force=false", "&force=false", "&force=true"), object()
		pins()
	case 5:
		s.method, s.path, s.query, s.body, s.content = http.MethodPost, base, manager, object(), "application/json"
	case 6:
		s.method, s.content, s.query = http.MethodPatch, "application/merge-patch+json", manager
		s.body = map[string]any{"metadata": one(d, map[string]any{"annotations": map[string]any{"k": nil, "l": "z"}}, map[string]any{"finalizers": nil}, map[string]any{"annotations": map[string]any{"k": nil}})}
		pins()
	case 7:
		s.method, s.content, s.query = http.MethodPatch, "application/json-patch+json", manager
		s.patch = []any{map[string]any{"op": "replace", "path": "/metadata/managedFields", "value": []any{map[string]any{}}}}
	case 8, 9:
		s.method, s.content, s.body = http.MethodDelete, "application/json", map[string]any{"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Background"}
		if d.Intn(5) == 0 {
			s.body["dryRun"] = []any{"All"}
		}
		pins()
	case 10:
		s.method = http.MethodGet
	case 11:
		s.accept = strings.Replace(s.accept, "Metadata;", "MetadataList;", 1)
		s.method, s.path, s.query = http.MethodGet, base, one(d, "", "limit=1", "labelSelector=k%3Dx", "labelSelector=k+in+%28x%2Cy%29")
	}
	return s
}
