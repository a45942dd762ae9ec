package commands

import (
	"slices"
	"strings"
	"testing"

	"github.com/akash-net/kubectl-akash-net/lease"
)

// step is one command of a case, on the hosts of the case.
type step struct {
	verb string // reserve, check, transfer, release
	by   string // the lease
	on   string // the hosts, separated by spaces
	code int
	// withheld are the hosts that the command names as withheld; error is part of what it says.
	withheld string
	error    string
}

// The rules of Akash's hostname service, by the case in its test or its code. Leases: L1 and L2 are
// deployments of one owner, X of another; L1' is L1 with another order and provider, L1" another
// group of L1's deployment. Every case has a domain of its own: "meow" stands for meow.DOMAIN.
func TestHostnameRules(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		blocked string // of DOMAIN
		steps   []step
		// holders are the deployments that hold the hosts in the end.
		holders map[string]string
	}{
		{"HS-1 a blocked host", "foobar DOMAIN.test", []step{{"check", "L1", "foobar other", 3, "", "blocked by this provider"}}, nil},
		{"HS-2 a host in a blocked domain", ".DOMAIN", []step{{"check", "L1", "accounts", 3, "", "blocked by this provider"}}, nil},
		{"HS-3 a blocked domain itself", ".bobs", []step{{"check", "L1", "bobs", 3, "", "blocked by this provider"}}, nil},
		{"HS-4 a host below a host that is blocked alone", "bobs", []step{{"check", "L1", "accounts.bobs", 0, "", ""}}, nil},
		{"HS-5 a host that ends like a blocked domain", ".bobs", []step{{"check", "L1", "xbobs", 0, "", ""}}, nil},
		{"HS-6 a blocked host in upper case", "foobar", []step{{"check", "L1", "FOOBAR", 3, "", "blocked by this provider"}}, nil},
		{"HS-7 an entry in upper case (Akash: allowed)", "FOOBAR", []step{{"check", "L1", "foobar", 3, "", "blocked by this provider"}}, nil},
		{"HS-8 a lease keeps what it has", "", []step{
			{"reserve", "L1", "meow kittens", 0, "", ""},
			{"reserve", "L1", "kittens meow cats", 0, "", ""},
		}, map[string]string{"meow": "1", "kittens": "1", "cats": "1"}},
		{"HS-9 a host of another deployment is withheld", "", []step{
			{"reserve", "L1", "meow kittens cats", 0, "", ""},
			{"reserve", "L2", "dogs meow ferrets", 0, "meow", ""},
		}, map[string]string{"meow": "1", "dogs": "2", "ferrets": "2"}},
		{"HS-10 a host of another owner", "", []step{
			{"reserve", "L1", "meow kittens", 0, "", ""},
			{"reserve", "X", "KITTENS", 4, "", "kittens"},
		}, map[string]string{"kittens": "1"}},
		{"HS-11 after a release", "", []step{
			{"reserve", "L1", "meow kittens", 0, "", ""},
			{"release", "L1", "", 0, "", ""},
			{"reserve", "X", "KITTENS", 0, "", ""},
		}, map[string]string{"meow": "", "kittens": "9"}},
		{"HS-12 after it is no longer asked for", "", []step{
			{"reserve", "L1", "meow kittens", 0, "", ""},
			{"reserve", "X", "kittens", 4, "", "kittens"},
			{"reserve", "L1", "meow", 0, "", ""},
			{"reserve", "X", "KITTENS", 0, "", ""},
		}, map[string]string{"meow": "1", "kittens": "9"}},
		{"HS-13 all or nothing", "", []step{
			{"reserve", "L1", "a b", 0, "", ""},
			{"reserve", "X", "c", 0, "", ""},
			{"reserve", "L1", "a c d", 4, "", "c"},
		}, map[string]string{"a": "1", "b": "1", "c": "9", "d": ""}},
		{"HS-14 another order and provider are the same deployment", "", []step{
			{"reserve", "L1", "a", 0, "", ""},
			{"reserve", "L1'", "a", 0, "", ""},
		}, map[string]string{"a": "1"}},
		{"HS-15 another group is another deployment", "", []step{
			{"reserve", "L1", "a", 0, "", ""},
			{"reserve", `L1"`, "a", 0, "a", ""},
		}, map[string]string{"a": "1"}},
		{"HS-16 transfer to another deployment", "", []step{
			{"reserve", "L1", "meow kittens", 0, "", ""},
			{"transfer", "L2", "kittens", 0, "", ""},
		}, map[string]string{"meow": "1", "kittens": "2"}},
		{"HS-17 transfer to the holder", "", []step{
			{"reserve", "L1", "meow kittens", 0, "", ""},
			{"transfer", "L1", "kittens", 0, "", ""},
		}, map[string]string{"kittens": "1"}},
		{"HS-18 transfer to another owner", "", []step{
			{"reserve", "L1", "meow kittens", 0, "", ""},
			{"transfer", "X", "kittens", 4, "", "kittens"},
		}, map[string]string{"kittens": "1"}},
		{"HS-19 transfer of what nobody holds (Akash: left out)", "", []step{
			{"reserve", "L1", "meow kittens", 0, "", ""},
			{"transfer", "L2", "pets", 1, "", "has no claim that can be transferred"},
		}, map[string]string{"pets": "", "meow": "1"}},
		{"HS-20 transfer all or nothing", "", []step{
			{"reserve", "L1", "a", 0, "", ""},
			{"reserve", "X", "c", 0, "", ""},
			{"transfer", "L2", "a c", 4, "", "c"},
		}, map[string]string{"a": "1", "c": "9"}},
		{"HS-21 what was there before this process", "", []step{
			{"reserve", "L1", "a", 0, "", ""},
			{"check", "X", "a", 4, "", "a"},
			{"check", "L2", "a", 0, "a", ""},
			{"check", "L1", "a", 0, "", ""},
		}, map[string]string{"a": "1"}},
		{"HS-22 nothing is asked for any more", "", []step{
			{"reserve", "L1", "a b", 0, "", ""},
			{"reserve", "L1", "", 0, "", ""},
		}, map[string]string{"a": "", "b": ""}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			domain, owner, other := newDomain(), newOwner(), newOwner()
			leases := map[string]lease.ID{"L1": leaseOf(owner, 1), "L2": leaseOf(owner, 2), "X": leaseOf(other, 9)}
			again, group := leases["L1"], leases["L1"]
			again.OSeq, again.Provider = 7, newOwner()
			group.GSeq = 2
			leases["L1'"], leases[`L1"`] = again, group
			config := configure(t, "hosts: {blocked: ["+strings.Join(named(test.blocked, domain), ", ")+"]}")
			for _, s := range test.steps {
				r := mustRun(t, s.code, s.arguments(leases[s.by], domain, config)...)
				r.Says(t, s.error)
				for _, host := range named(s.on, domain) {
					told := strings.Contains(r.Stdout+r.Stderr, "host/"+strings.ToLower(host)+" withheld")
					if want := slices.Contains(named(s.withheld, domain), host); told != want {
						t.Errorf("%s withheld: %t, want %t: %s", host, told, want, r)
					}
				}
			}
			for host, holder := range test.holders {
				want := []string{}
				if holder != "" {
					want = append(want, holder+" /")
				}
				held(t, host+"."+domain, want...)
			}
		})
	}
}

// named puts words under a domain; DOMAIN is the domain itself.
func named(words, domain string) []string {
	out := []string{}
	for _, word := range strings.Fields(words) {
		if strings.Contains(word, "DOMAIN") {
			out = append(out, strings.ReplaceAll(word, "DOMAIN", domain))
			continue
		}
		out = append(out, word+"."+domain)
	}
	return out
}

func (s step) arguments(id lease.ID, domain, config string) []string {
	things := named(s.on, domain)
	switch s.verb {
	case "transfer":
		return append([]string{"transfer", "--to", id.String(), "--config", config}, things...)
	case "release":
		return append([]string{"release", id.String(), "--config", config}, things...)
	}
	return append([]string{s.verb, "--lease", id.String(), "--config", config}, things...)
}

// reserve gives up only what nothing serves: a route may rest on the rest.
func TestReserveKeepsWhatIsServed(t *testing.T) {
	t.Parallel()
	domain, id := newDomain(), leaseOf(newOwner(), 1)
	served, idle, next := "served."+domain, "idle."+domain, "next."+domain
	mustRun(t, 0, "apply", "-f", define(t, id, web("web", 80, served)))
	mustRun(t, 0, "reserve", "--lease", id.String(), "--prune=false", idle)
	mustRun(t, 0, "reserve", "--lease", id.String(), next).Prints(t, "host/"+idle+" released", "host/"+next+" claimed")
	held(t, served, "1 /")
	held(t, idle)
	held(t, next, "1 /")
	held(t, served, "1 /")
	need(t, ingresses, id.Namespace(), served)
}

// A path of a host is held like a host, within one owner; its holders come and go in any order.
func TestPaths(t *testing.T) {
	t.Parallel()
	for name, first := range map[string]uint64{"first goes first": 1, "second goes first": 2} {
		t.Run(name, func(t *testing.T) {
			host, owner := "api."+newDomain(), newOwner()
			one, two, stranger := leaseOf(owner, 1), leaseOf(owner, 2), leaseOf(newOwner(), 9)
			mustRun(t, 0, "reserve", "--lease", one.String(), host)
			mustRun(t, 0, "reserve", "--lease", two.String(), host+"/v2")
			mustRun(t, 0, "reserve", "--lease", two.String(), host+"/v2", host+"/").Prints(t, "withheld")
			mustRun(t, 4, "reserve", "--lease", stranger.String(), host+"/v3").Says(t, host, owner)
			held(t, host, "1 /", "2 /v2")

			goes, stays := leaseOf(owner, first), leaseOf(owner, 3-first)
			uid := claim(t, host).UID
			mustRun(t, 0, "release", goes.String())
			held(t, host, map[uint64]string{1: "1 /", 2: "2 /v2"}[stays.DSeq])
			if claim(t, host).UID != uid {
				t.Error("the claim was let go and made anew")
			}
			mustRun(t, 4, "reserve", "--lease", stranger.String(), host+"/v3")
			mustRun(t, 0, "release", stays.String())
			held(t, host)
			mustRun(t, 0, "reserve", "--lease", stranger.String(), host+"/v3")
			held(t, host, "9 /v3")
		})
	}
}
