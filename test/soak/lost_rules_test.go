package soak_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// Which end of a live route is asked for by which command.
func TestAskedFor(t *testing.T) {
	const mine, ours, theirs = one + "/1/1", one + "/2/1", other + "/1/1"
	host := route{kind: "Ingress", name: "a.example.com", group: mine, owner: one, thing: "a.example.com", key: "/"}
	port := route{kind: "Service", name: "s", group: mine, owner: one, thing: "10.0.0.1", key: "tcp-443", sharingKey: one + "-ip-public"}
	successor := host
	successor.kind = "HTTPRoute"
	held, served := part{group: mine}, part{group: ours, From: mine}
	with := &definition{group: mine, hosts: map[string]string{"a.example.com": "web"}, endpoint: "public", ports: []string{"tcp-443"}}
	without := &definition{group: mine, endpoint: "public", ports: []string{"tcp-80"}}
	applying := func(d *definition, to string) asks { return asks{applies: map[string]*definition{to: d}} }
	for name, test := range map[string]struct {
		asks
		route
		part
		after []route
		want  bool
	}{
		"repair":                           {asks{}, host, held, nil, false},
		"release":                          {asks{lease: mine, releases: true}, host, held, nil, true},
		"release of it":                    {asks{lease: mine, releases: true, things: []string{"a.example.com"}}, host, held, nil, true},
		"release of another thing":         {asks{lease: mine, releases: true, things: []string{"b.example.com"}}, host, held, nil, false},
		"release of another lease":         {asks{lease: ours, releases: true}, host, held, nil, false},
		"release of the new holder":        {asks{lease: ours, releases: true}, host, served, nil, true},
		"apply without it":                 {applying(without, mine), host, held, nil, true},
		"apply without it, which keeps":    {asks{applies: map[string]*definition{mine: without}, keeps: true}, host, held, nil, false},
		"apply with it":                    {applying(with, mine), host, held, nil, false},
		"apply with it, as another kind":   {applying(with, mine), host, held, []route{successor}, true},
		"apply of the port":                {applying(with, mine), port, held, nil, false},
		"apply of another port":            {applying(without, mine), port, held, nil, true},
		"apply of another lease":           {applying(without, ours), host, held, nil, false},
		"apply of the new holder":          {applying(with, ours), host, served, nil, true},
		"transfer to the owner's":          {asks{lease: ours, transfers: true, things: []string{"a.example.com"}}, host, held, nil, true},
		"transfer of another thing":        {asks{lease: ours, transfers: true, things: []string{"b.example.com"}}, host, held, nil, false},
		"transfer of the endpoint":         {asks{lease: ours, transfers: true, things: []string{"public"}}, port, held, nil, true},
		"transfer of another endpoint":     {asks{lease: ours, transfers: true, things: []string{"private"}}, port, held, nil, false},
		"transfer of another owner":        {asks{lease: theirs, transfers: true, things: []string{"a.example.com"}}, host, held, nil, false},
		"migrate":                          {asks{lease: mine, moves: true}, host, held, []route{successor}, true},
		"migrate without a new route":      {asks{lease: mine, moves: true}, host, held, nil, false},
		"migrate of another owner's lease": {asks{lease: theirs, moves: true}, host, held, []route{successor}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := test.for_(test.route, test.part, test.after); got != test.want {
				t.Errorf("asked for: %v, want %v", got, test.want)
			}
		})
	}
}

// The audit sees what is done behind the leases' backs: a live Ingress, a ProviderHost and a claim that are
// deleted by hand. What commands ask for it does not count.
func TestLiveRoutesAreMissed(t *testing.T) {
	onPlane(t)
	s := newSoak(t, 1, false)
	ten := tenant{number: 77, of: 78}
	d := &definition{
		group: ten.group(1), file: filepath.Join(harness.Plane.Dir, "missed.yaml"),
		hosts: map[string]string{"a.missed.example.com": "web", "b.missed.example.com": "web", "c.missed.example.com": "web", "d.missed.example.com": "web"},
	}
	d.text = ten.header(1) + "  services: [{name: web, expose: [{port: 8080, as: 80, global: true, hosts: [" + strings.Join(slices.Sorted(maps.Keys(d.hosts)), ", ") + "]}]}]\n"
	if err := os.WriteFile(d.file, []byte(d.text), 0o600); err != nil {
		t.Fatal(err)
	}
	do := func(op operation) {
		t.Helper()
		if out, err := s.do(op); err != nil {
			t.Fatalf("%v: %v\n%s", op.args, err, out)
		}
	}
	do(s.applies("apply", d, "apply"))
	things := []string{"d.missed.example.com"}
	do(operation{verb: "release THING", args: append([]string{"release", d.group}, things...), asks: asks{lease: d.group, things: things, releases: true}})
	for _, host := range []string{"a.missed.example.com", "b.missed.example.com", "c.missed.example.com"} {
		resource := map[byte]schema.GroupVersionResource{'a': ofLeases[2], 'b': ofLeases[0], 'c': leases}[host[0]]
		for _, o := range list(t, resource, "") {
			if o.GetName() == host {
				harness.Remove(t, resource, o.GetNamespace(), host)
			}
		}
	}
	do(operation{verb: "release", args: []string{"release", d.group}, asks: asks{lease: d.group, releases: true}})
	asked, found := lost(s.journal.read(t), false, s.atWork)
	var missed []string
	for _, l := range found {
		missed = append(missed, l.kind+" "+l.thing+" in "+filepath.Base(filepath.Dir(l.path)))
	}
	slices.Sort(missed)
	want := []string{
		"Ingress a.missed.example.com in ingresses", "Ingress c.missed.example.com in leases",
		"ProviderHost b.missed.example.com in providerhosts", "ProviderHost c.missed.example.com in leases",
	}
	if !slices.Equal(missed, want) {
		t.Errorf("the audit misses %q, want %q", missed, want)
	}
	if asked["release THING"] == 0 || asked["release"] == 0 {
		t.Errorf("what commands asked for: %v", asked)
	}
}
