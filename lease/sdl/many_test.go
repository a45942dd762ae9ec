package sdl_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/input"
)

// repeated is a text for each number up to n, one behind the other.
func repeated(n int, format string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

// A document may have very many of everything, and is read to its end.
func TestManyOfEverything(t *testing.T) {
	const n = 20_000
	services := `version: "2.1"
services:
` + repeated(n, "  s%d: {image: a, expose: [{port: 81, to: [{global: true}]}]}\n") + `profiles: {compute: {p: {resources: {cpu: {units: 500m}, memory: {size: 1Gi}, storage: {size: 1Gi}}}}, placement: {dc: {pricing: {}}}}
deployment:
` + repeated(n, "  s%d: {dc: {profile: p, count: 1}}\n")
	of := `{"owner": "akash1xqnd68gm", "dseq": "1", "gseq": 1, "oseq": 1, "provider": "akash1yqd7y67h"}`
	for name, c := range map[string]struct{ text, want string }{
		"services":  {services, ""},
		"endpoints": {with(t, "[{global: true}]", "["+repeated(n, "{global: true, ip: ip%d}, ")+"]", "        accept: [a.example.com]\n", "", "services:", "endpoints: {"+repeated(n, "ip%d: {kind: ip}, ")+"}\nservices:"), "both would have the Service"},
		"hosts":     {with(t, "[a.example.com]", "["+repeated(n, "h%d.example.com, ")+"]"), ""},
		"models":    {with(t, "cpu: {units: 100m}", "cpu: {units: 100m}\n        gpu: {units: 1, attributes: {vendor: {nvidia: ["+repeated(n, "{model: m%d}, ")+"]}}}"), ""},
		"volumes": {with(t, "storage: {size: 1Gi}", "storage: ["+repeated(n, "{name: v%d, size: 1Gi, attributes: {persistent: true}}, ")+"]", "image: nginx",
			"image: nginx\n    params: {storage: {"+repeated(n, "v%d: {mount: /v%[1]d}, ")+"}}"), ""},
		"variables":  {with(t, "image: nginx", "image: nginx\n    env: ["+repeated(n, "A%d=b, ")+"]"), ""},
		"attributes": {`{"apiVersion": "akash.network/v2beta2", "kind": "Manifest", "spec": {"lease_id": ` + of + `, "group": {"name": "dc", "services": [{"name": "web", "image": "a", "count": 1, "expose": [{"port": 80, "global": true}], "resources": {"id": 1, "cpu": {"units": 100, "attributes": [` + strings.TrimSuffix(repeated(n, `{"key": "k%d", "value": "v"},`), ",") + `]}, "memory": {"size": "536870912"}}}]}}}`, ""},
		"profiles":   {with(t, "  compute:\n", "  compute:\n"+repeated(n, "    p%d: {resources: {}}\n")), ""},
		"placements": {with(t, "  placement:\n", "  placement:\n"+repeated(n, "    p%d: {}\n")), ""},
		"keys":       {with(t, "image: nginx", "image: nginx\n"+repeated(n, "    k%d: 1\n")), "is ignored"},
	} {
		opt := input.Options{Workloads: true}
		if !strings.Contains(c.text, "apiVersion") {
			opt.Lease = id(1)
		}
		read := 0
		problems, err := input.Read(t.Context(), strings.NewReader(c.text), "", opt, func(*lease.Definition) error {
			read++
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		said := ""
		for _, p := range problems[:min(len(problems), 3)] {
			said += p.Error() + "\n"
		}
		units := strings.Contains(said, "resource units") // what the chain takes of them
		if !strings.Contains(said, c.want) || c.want == "" && said != "" && !units || read == 0 != problems.Failed() {
			t.Errorf("%s: %s", name, said)
		}
	}
}

// Each "to" has all hosts of "accept": their product is limited while it is read.
func TestHostsTimesTo(t *testing.T) {
	text := with(t, "[a.example.com]", "["+repeated(1000, "h%d.example.com, ")+"]", "[{global: true}]", "["+strings.Repeat("{global: true}, ", 1000)+"]")
	problems, err := input.Read(t.Context(), strings.NewReader(text), "", input.Options{Lease: id(1)}, func(*lease.Definition) error { return nil })
	if said := problems.Error(); err != nil || !strings.Contains(said, "more than 100000 exposed ports or 200000 hosts") {
		t.Errorf("%.200s %v", said, err)
	}
}
