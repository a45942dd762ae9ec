package apply

import (
	"net/netip"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/akash-net/kubectl-akash-net/apply/command"
	"github.com/akash-net/kubectl-akash-net/apply/turn"
	"github.com/akash-net/kubectl-akash-net/engine/report"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/test/sim/simtest"
)

const (
	claimPath     = "/apis/coordination.k8s.io/v1/namespaces/akash-net/leases/"
	someProvider  = "akash1nxq8gmsw2vlz3m68qvyvcf3kh6q269ajvqw6y0"
	someOwner     = "akash1h24fljt7p0nh82cq0za0uhsct3sfwsfu9w3c9h"
	somebodyElses = "akash1n44zc8l6gfm0hpydldndpg8n05xjjwmuahc6nn"
)

func someLease(owner string, dseq uint64) lease.ID {
	return lease.ID{Owner: owner, DSeq: dseq, GSeq: 1, OSeq: 1, Provider: someProvider}
}

// withHosts is a definition with hosts of one service.
func withHosts(id lease.ID, hosts ...string) *lease.Definition {
	expose := lease.Expose{Port: 80, Protocol: lease.TCP, Global: true}
	for _, h := range hosts {
		expose.Hosts = append(expose.Hosts, lease.Host{Name: h})
	}
	return &lease.Definition{Lease: id, Hash: "hash", Services: []lease.Service{{Name: "web", Expose: []lease.Expose{expose}}}}
}

// withAddress is a definition with a port on an address that it names.
func withAddress(id lease.ID, address string) *lease.Definition {
	d := anyAddress(id)
	d.IPEndpoints[0].Addresses = []netip.Addr{netip.MustParseAddr(address)}
	return d
}

// anyAddress is a definition with a port on any address.
func anyAddress(id lease.ID) *lease.Definition {
	return &lease.Definition{
		Lease: id, Hash: "hash", IPEndpoints: []lease.IPEndpoint{{Name: "public"}},
		Services: []lease.Service{{Name: "game", Expose: []lease.Expose{{Port: 443, Protocol: lease.TCP, Global: true, IP: "public"}}}},
	}
}

// checked is a definition as it is read from a file.
func checked(t *testing.T, def *lease.Definition) *lease.Definition {
	t.Helper()
	if problems := lease.Check(def); len(problems.Errors()) > 0 {
		t.Fatal(problems)
	}
	def.Hash = lease.Sum(def)
	return def
}

// bench is a server, and commands that work on it.
type bench struct {
	*testing.T
	*simtest.Server
	applier *Applier
	// told is what was reported, as "kind/name action".
	told []string
}

func newBench(t *testing.T) *bench {
	t.Helper()
	cfg := config.Default()
	r, err := config.ParseRange("203.0.113.0/28")
	if err != nil {
		t.Fatal(err)
	}
	cfg.IP.Ranges.Include = []config.Range{r}
	b := &bench{T: t, Server: simtest.New(t, "akash-net", cfg.ManifestNamespace, cfg.IP.MetalLBNamespace)}
	b.applier = New(b.Connect(), command.Options{Config: cfg, Prune: true, Concurrency: 1, Report: func(e report.Event) {
		b.told = append(b.told, e.Kind+"/"+e.Name+" "+string(e.Action))
	}})
	b.applier.Command.Cluster.Retries, b.applier.Command.Patience = wait.Backoff{Steps: 10}, wait.Backoff{Steps: 8}
	return b
}

func (b *bench) apply(defs ...*lease.Definition) error { return b.applier.Apply(b.Context(), defs) }

// mustApply applies definitions, and forgets what was reported and written.
func (b *bench) mustApply(defs ...*lease.Definition) {
	b.Helper()
	if err := b.apply(defs...); err != nil {
		b.Fatal(err)
	}
	b.told = nil
	b.Writes()
}

func (b *bench) release(ids ...lease.ID) error {
	var groups []lease.Group
	for _, id := range ids {
		groups = append(groups, id.Group())
	}
	return b.applier.Release(b.Context(), groups)
}

// claimed makes a lease hold a host, in a run that is under way if it is named.
func (b *bench) claimed(id lease.ID, host, run string) {
	b.Helper()
	if run != "" {
		now := time.Now()
		a := &state.Announcement{Nonce: run, Groups: []lease.Group{id.Group()}, By: "ann@laptop", Version: "v1", Begun: now, Renewed: now, Lasts: turn.Lasts, Phase: state.Active}
		b.Put("test", claimPath+a.Name(), a.Configuration("akash-net"))
	}
	hold := state.HostWant{Host: host, Service: "web", Port: 80}.Hold(id)
	hold.Parts[0].Run = run
	b.Put(id.Group().FieldManager(), claimPath+hold.Name(), hold.Claim().Configuration("akash-net", hold.Parts))
}

// has reports whether the server has an object, by its resource and name.
func (b *bench) has(plural, name string) bool {
	return slices.Contains(b.Names(plural), plural+"/"+name)
}
