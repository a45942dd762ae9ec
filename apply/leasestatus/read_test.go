package leasestatus_test

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/leasestatus"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
)

var id = lease.ID{
	Owner: "akash1h24fljt7p0nh82cq0za0uhsct3sfwsfu9w3c9h", DSeq: 7, GSeq: 1, OSeq: 1, Provider: "akash1nxq8gmsw2vlz3m68qvyvcf3kh6q269ajvqw6y0",
}

func object(kind kinds.Kind, namespace, name string, labels map[string]string, more map[string]any) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{}}
	for k, v := range more {
		o.Object[k] = v
	}
	o.SetGroupVersionKind(kind.GroupVersionKind)
	o.SetNamespace(namespace)
	o.SetName(name)
	o.SetLabels(labels)
	return o
}

func holds(t *testing.T, objects ...*unstructured.Unstructured) *cluster.Cluster {
	t.Helper()
	c, err := cluster.OfObjects(objects)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// spec is what a ProviderHost says.
func spec(host string) map[string]any {
	return map[string]any{"spec": map[string]any{"hostname": host, "service_name": "web"}}
}

func TestReadIsOfOneLease(t *testing.T) {
	ns, other := id.Namespace(), id
	other.DSeq = 8
	ready := map[string]any{"status": map[string]any{"replicas": int64(2), "readyReplicas": int64(2), "availableReplicas": int64(1)}}
	ours := map[string]string{lease.LabelManaged: "true"}
	c := holds(t,
		object(kinds.Manifest, "lease", ns, nil, map[string]any{"spec": map[string]any{"group": map[string]any{"services": []any{
			map[string]any{"name": "web", "expose": []any{map[string]any{"port": int64(80), "proto": "TCP", "global": true}}}}}}}),
		object(kinds.Deployment, ns, "web", ours, ready), object(kinds.StatefulSet, ns, "db", ours, ready),
		object(kinds.Deployment, other.Namespace(), "alien", ours, ready),
		object(kinds.ProviderHost, "lease", "a.example.com", id.Labels(), spec("a.example.com")),
		object(kinds.ProviderHost, "lease", "b.example.com", other.Labels(), spec("b.example.com")),
		object(kinds.Service, ns, "web-np", nil, map[string]any{"spec": map[string]any{"type": "NodePort", "ports": []any{
			map[string]any{"port": int64(22), "targetPort": int64(2222), "nodePort": int64(31000), "protocol": "UDP"}}}}),
	)
	read, err := leasestatus.Read(t.Context(), c, "lease", id)
	if err != nil {
		t.Fatal(err)
	}
	got, err := read.Of("p.example.com")
	if err != nil {
		t.Fatal(err)
	}
	web := got.Services["web"]
	if len(got.Services) != 2 || got.Services["db"] == nil || web == nil || web.Available != 1 || !cmp.Equal(web.URIs, []string{"a.example.com"}) {
		t.Errorf("services: %+v, web: %+v", got.Services, web)
	}
	if p := got.ForwardedPorts["web"]; len(p) != 1 || p[0].Port != 2222 || p[0].ExternalPort != 31000 || p[0].Proto != "UDP" {
		t.Errorf("ports: %+v", p)
	}
	if got.IPs != nil {
		t.Errorf("addresses that nobody asked for: %v", got.IPs)
	}
}

func TestReadNothing(t *testing.T) {
	read, err := leasestatus.Read(t.Context(), holds(t), "lease", id)
	if err != nil || read.Manifest != nil || len(read.Deployments)+len(read.StatefulSets)+len(read.Services)+len(read.Hosts) > 0 {
		t.Errorf("of an empty cluster: %+v, %v", read, err)
	}
}

// transport answers the requests of a client.
type transport func(*http.Request) *http.Response

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r), nil }

// On a cluster without Akash's resource definitions a lease has neither a Manifest nor ProviderHosts; that is no error.
func TestReadWithoutAkashsKinds(t *testing.T) {
	c, err := cluster.Connect(&rest.Config{Host: "http://none", Transport: transport(func(r *http.Request) *http.Response {
		response := httptest.NewRecorder()
		if strings.HasPrefix(r.URL.Path, "/apis/akash.network/") {
			http.NotFound(response, r)
		} else {
			response.Header().Set("Content-Type", "application/json")
			_, _ = response.WriteString(`{"kind":"List","apiVersion":"v1","metadata":{},"items":[]}`)
		}
		return response.Result()
	})}, 4)
	if err != nil {
		t.Fatal(err)
	}
	read, err := leasestatus.Read(t.Context(), c, "lease", id)
	if err != nil || read.Manifest != nil || len(read.Hosts) > 0 {
		t.Errorf("read %+v, %v", read, err)
	}
}

func TestReadSaysWhatIsUnreadable(t *testing.T) {
	_, err := leasestatus.Read(t.Context(), holds(t, object(kinds.Manifest, "lease", id.Namespace(), nil, map[string]any{"spec": "none"})), "lease", id)
	if err == nil || !bytes.Contains([]byte(err.Error()), []byte("manifest lease/"+id.Namespace()+" cannot be read")) {
		t.Error(err)
	}
}

func TestFind(t *testing.T) {
	again, other := id, id
	again.OSeq, other.GSeq = 2, 2
	namespace := func(name string, labels map[string]string) *unstructured.Unstructured {
		return object(kinds.Namespace, "", name, labels, nil)
	}
	c := holds(t, namespace(id.Namespace(), id.Labels()), namespace(again.Namespace(), again.Labels()), namespace(other.Namespace(), other.Labels()),
		namespace("forged", id.Labels()))
	got, err := leasestatus.Find(t.Context(), c, id.Group())
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 2 || got[0] == got[1] || got[0].Group() != id.Group() || got[1].Group() != id.Group() {
		t.Errorf("found %v", got)
	}
}
