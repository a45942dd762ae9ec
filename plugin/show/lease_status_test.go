package show

import (
	"bytes"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/plugin/flags"
	"github.com/akash-net/kubectl-akash-net/plugin/session"
	state "github.com/akash-net/kubectl-akash-net/state/status"
)

func TestStatusIsPrinted(t *testing.T) {
	l := &state.Lease{
		Services: map[string]*state.Service{"web": {Name: "web", Available: 1, Total: 2, ReadyReplicas: 2, URIs: []string{"a.example.com", "b\x1b[31m.example.com"}}, "db": {Name: "db"}},
		ForwardedPorts: map[string][]state.ForwardedPort{
			"web": {{Port: 53, ExternalPort: 31000, Proto: "UDP", Name: "web"}}},
		IPs: map[string][]state.LeasedIP{"web": {{Port: 80, ExternalPort: 8080, Protocol: "TCP", IP: "203.0.113.7"}}},
	}
	for output, want := range map[string][]string{
		"json": {`"externalPort": 31000`, `"ExternalPort": 8080`, `"uris": null`},
		"yaml": {"externalPort: 31000", `IP: "203.0.113.7"`, "uris: null"},
		"wide": {"SERVICE", "db        0/0", "web       1/2", "53:31000/UDP", "203.0.113.7 8080/TCP", "<none>"},
	} {
		var out bytes.Buffer
		c := session.New(t.Context(), genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &out})
		if err := printStatus(&c.Console, l, l, output); err != nil {
			t.Fatal(err)
		}
		for _, text := range want {
			if !strings.Contains(out.String(), text) {
				t.Errorf("-o %s: %q is not printed:\n%s", output, text, out.String())
			}
		}
	}
}

func TestLeaseOfAStatus(t *testing.T) {
	one := lease.ID{Owner: "akash1h24fljt7p0nh82cq0za0uhsct3sfwsfu9w3c9h", DSeq: 7, GSeq: 1, OSeq: 1, Provider: "akash1nxq8gmsw2vlz3m68qvyvcf3kh6q269ajvqw6y0"}
	two := one
	two.OSeq = 2
	in := func(ids ...lease.ID) *cluster.Cluster {
		var objects []*unstructured.Unstructured
		for _, id := range ids {
			o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace"}}
			o.SetName(id.Namespace())
			o.SetLabels(id.Labels())
			objects = append(objects, o)
		}
		c, err := cluster.OfObjects(objects)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	for name, tt := range map[string]struct {
		typed string
		in    *cluster.Cluster
		want  lease.ID
		fails string
	}{
		"in full":          {one.String(), in(), one, ""},
		"the only one":     {one.Group().String(), in(one), one, ""},
		"by its order":     {two.Order().String(), in(one, two), two, ""},
		"one of several":   {one.Group().String(), in(one, two), lease.ID{}, "name one in full: "},
		"none":             {one.Group().String(), in(), lease.ID{}, "nothing runs for lease"},
		"none of an order": {two.Order().String(), in(one), lease.ID{}, "nothing runs for lease"},
	} {
		got, err := flags.FindLease(t.Context(), tt.in, tt.typed, one.Group())
		if got != tt.want || (err == nil) != (tt.fails == "") || err != nil && !strings.Contains(err.Error(), tt.fails) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}
