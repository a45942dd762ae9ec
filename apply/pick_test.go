package apply

import (
	"errors"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/akash-net/kubectl-akash-net/apply/command"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/report"
	"github.com/akash-net/kubectl-akash-net/state"
)

const claimZero, claimOne = claimPath + "ip--203-0-113-0", claimPath + "ip--203-0-113-1"

// addressed puts a claim on an address into the server's store.
func (s *server) addressed(t *testing.T, id lease.ID, address string) {
	t.Helper()
	want := state.EndpointWant{Name: "public", SharingKey: lease.SharingKey(id.Owner, "public")}
	hold := want.Hold(id, netip.MustParseAddr(address))
	s.store(t, claimPath+hold.Name(), hold.Claim().Configuration("akash-net", hold.Parts))
}

// narrow leaves two addresses.
func narrow(t *testing.T, a *Applier) {
	t.Helper()
	r, err := config.ParseRange("203.0.113.0-203.0.113.1")
	if err != nil {
		t.Fatal(err)
	}
	a.Command.Options.Config.IP.Ranges.Include = []config.Range{r}
}

func anyAddress(id lease.ID) *lease.Definition {
	d := withAddress(id, "203.0.113.0")
	d.IPEndpoints[0].Addresses = nil
	return d
}

// While a run tries for the one free address, that is taken and another is given back: at no moment was
// none left, and the run is not told so.
func TestAddressGivenBackMeanwhileIsTaken(t *testing.T) {
	for _, given := range []bool{true, false} {
		s, c := newServer(t, 1)
		s.addressed(t, someLease(somebodyElses, 1), "203.0.113.1")
		lost := false
		s.before = func(s *server, method, path string) (int, bool) {
			if method != http.MethodPatch || path != claimZero || lost {
				return 0, false
			}
			lost = true
			s.addressed(t, someLease("akash1"+strings.Repeat("x", 38), 1), "203.0.113.0")
			if given {
				delete(s.objects, claimOne)
			}
			return http.StatusConflict, true
		}
		a, kept := applier(t, c)
		narrow(t, a)
		err := a.Apply(t.Context(), []*lease.Definition{anyAddress(someLease(someOwner, 1))})
		_, ok := errors.AsType[*report.ExhaustedError](err)
		if ok == given || err != nil && given || !lost {
			t.Errorf("given back: %v, error %v", given, err)
		}
		if got := slices.Contains(kept.texts, "address/203.0.113.1 claimed"); got != given {
			t.Errorf("given back: %v, events %q", given, kept.texts)
		}
	}
}

// An address that a later lease of the run asks for by name is not given to an earlier one.
func TestNamedAddressIsKept(t *testing.T) {
	s, c := newServer(t, 1)
	a, kept := applier(t, c)
	narrow(t, a)
	err := a.Apply(t.Context(), []*lease.Definition{anyAddress(someLease(someOwner, 1)), withAddress(someLease(somebodyElses, 1), "203.0.113.0")})
	if err != nil {
		t.Fatalf("%v, events %q", err, kept.texts)
	}
	if owner := s.objects[claimOne].GetLabels()[state.LabelOwner]; owner != someOwner {
		t.Errorf("203.0.113.1 is of %s", owner)
	}
}

// A check tells of all things, also where one is held: what is free, what is withheld, and by whom the
// others are held.
func TestCheckTellsAll(t *testing.T) {
	s, c := newServer(t, 1)
	s.claimed(t, someLease(somebodyElses, 1), "b.example.com", "")
	s.claimed(t, someLease(someOwner, 2), "c.example.com", "")
	s.claimed(t, someLease(someOwner, 1), "d.example.com", "")
	s.claimed(t, someLease(somebodyElses, 1), "e.example.com", "")
	a, kept := applier(t, c)
	opts := a.Command.Options
	opts.Check, opts.DryRun, opts.Prune = true, command.DryRunClient, false
	a = hasty(New(c, opts))
	var hosts []state.HostWant
	for _, h := range []string{"a", "b", "c", "d", "e", "f"} {
		hosts = append(hosts, state.HostWant{Host: h + ".example.com"})
	}
	err := a.Reserve(t.Context(), []state.Request{{Lease: someLease(someOwner, 1), Hosts: hosts}})
	refused, ok := errors.AsType[*report.HeldError](err)
	if !ok || len(refused.Held) != 2 || refused.Held[0].Thing != "b.example.com" || refused.Held[1].Thing != "e.example.com" {
		t.Errorf("error %v", err)
	}
	for _, want := range []string{"host/a.example.com free", "host/c.example.com withheld", "host/d.example.com held", "host/f.example.com free"} {
		if !slices.Contains(kept.texts, want) {
			t.Errorf("%q is not told: %q", want, kept.texts)
		}
	}
	if len(s.writes) > 0 {
		t.Errorf("a check writes: %q", s.writes)
	}
}
