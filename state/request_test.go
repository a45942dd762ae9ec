package state

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
)

// pathsDefinition exposes one host at three paths of two services.
func pathsDefinition() *lease.Definition {
	host := []lease.Host{{Name: "shop.example.com"}}
	expose := func(path string) lease.Expose {
		return lease.Expose{Port: 8080, As: 80, Protocol: lease.TCP, Global: true, Hosts: host, Path: path}
	}
	return &lease.Definition{Lease: lease.ID{Owner: "akash1a", DSeq: 1, GSeq: 1, OSeq: 1, Provider: "akash1p"}, Services: []lease.Service{
		{Name: "api", Expose: []lease.Expose{expose("/v1"), expose("/v2")}},
		{Name: "web", Expose: []lease.Expose{expose("")}},
	}}
}

// All paths of a host are parts of one claim, so that a run takes and gives them back together.
func TestPathsOfAHostAreOneHold(t *testing.T) {
	req, problems := NewRequest(pathsDefinition(), config.Default())
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	holds := req.HostHolds()
	if len(holds) != 1 || holds[0].Thing != "shop.example.com" {
		t.Fatalf("the holds are %+v", holds)
	}
	got := map[string]string{}
	for _, p := range holds[0].Parts {
		got[p.Path] = p.Service
	}
	if diff := cmp.Diff(map[string]string{"/": "web", "/v1": "api", "/v2": "api"}, got); diff != "" {
		t.Errorf("parts (-want +got):\n%s", diff)
	}
}

// Withholding applies to one path of a host. Its other paths are rendered.
func TestGrantedByPath(t *testing.T) {
	granted := Granted(pathsDefinition(), map[string]bool{"shop.example.com": true, "shop.example.com/v2": true}, nil)
	got := []string{}
	for _, s := range granted.Services {
		for _, e := range s.Expose {
			for _, h := range e.Hosts {
				got = append(got, lease.HostPath(h.Name, e.RoutePath()))
			}
		}
	}
	if diff := cmp.Diff([]string{"shop.example.com/v1"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The provider decides whether to allow wildcards, and a wildcard covers no host that it refuses.
func TestWildcardsInARequest(t *testing.T) {
	def := pathsDefinition()
	def.Services = def.Services[1:]
	def.Services[0].Expose[0].Hosts = []lease.Host{{Name: "*.example.com"}}
	for name, tc := range map[string]struct {
		hosts   config.Hosts
		refused bool
	}{
		"not allowed":          {config.Hosts{}, true},
		"allowed":              {config.Hosts{Wildcards: true, Blocked: []string{"example.org", "a.example.org"}}, false},
		"it covers from afar":  {config.Hosts{Wildcards: true, Blocked: []string{"a.b.example.com"}}, true}, // as an HTTPRoute's does
		"its domain blocked":   {config.Hosts{Wildcards: true, Blocked: []string{"example.com"}}, true},
		"its domain denied":    {config.Hosts{Wildcards: true, DeniedDomains: []string{"com"}}, true},
		"it covers a blocked":  {config.Hosts{Wildcards: true, Blocked: []string{"WWW.example.com"}}, true},
		"it covers a denied":   {config.Hosts{Wildcards: true, DeniedDomains: []string{"www.example.com"}}, true},
		"its domain permitted": {config.Hosts{Wildcards: true, AllowedDomains: []string{"example.com"}}, false},
		"another permitted":    {config.Hosts{Wildcards: true, AllowedDomains: []string{"www.example.com"}}, true},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := config.Default()
			cfg.Hosts = tc.hosts
			if _, problems := NewRequest(def, cfg); problems.Failed() != tc.refused {
				t.Errorf("refused: %v (%v), want %v", problems.Failed(), problems, tc.refused)
			}
		})
	}
}

// A port whose hosts are all withheld gets no generated host instead, because nobody has claimed it.
func TestGrantedGeneratesNoHost(t *testing.T) {
	cfg := config.Default()
	cfg.Hosts.Generated = "${service}.apps.example.com"
	def := pathsDefinition()
	granted := Granted(def, map[string]bool{"shop.example.com": true}, nil)
	if own := cfg.OwnHosts(def.Lease, &granted.Services[1]); len(own) > 0 {
		t.Errorf("%v are rendered, and not claimed", own)
	}
	def.Services[1].Expose[0].Hosts = nil
	if req, problems := NewRequest(def, cfg); len(problems) > 0 || len(req.Hosts) != 3 || !slices.ContainsFunc(req.Hosts, func(w HostWant) bool { return w.Own }) {
		t.Errorf("%+v, %v", req.Hosts, problems)
	}
}

// Every run takes its claims in this order: by kind, then by name.
func TestClaimsHaveOneOrder(t *testing.T) {
	want := []*Claim{
		{Kind: Address, Thing: "2001:db8::2"}, // names are fully expanded: ip--2001-0db8-0000-0000-...
		{Kind: Address, Thing: "2001:db8:0:1::1"},
		{Kind: Host, Thing: "a.example.com"},
		{Kind: Host, Thing: "b.example.com"},
		{Kind: Wildcard, Thing: "*.a.example.com"},
	}
	got := slices.Clone(want)
	slices.Reverse(got)
	slices.SortFunc(got, (*Claim).Compare)
	for i, c := range got {
		if c != want[i] {
			t.Errorf("place %d has %s %s, want %s", i, c.Kind, c.Thing, want[i].Thing)
		}
	}
}
