package repair

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/command"
	"github.com/akash-net/kubectl-akash-net/apply/ledger"
	"github.com/akash-net/kubectl-akash-net/engine/observed"
	ot "github.com/akash-net/kubectl-akash-net/engine/observed/observedtest"
	"github.com/akash-net/kubectl-akash-net/engine/report"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/test/golden"
	"github.com/akash-net/kubectl-akash-net/test/sim/simtest"
)

// repairOf is the repair of a cluster with these claims and objects.
func repairOf(opts Options, claims []*state.Claim, objects ...*unstructured.Unstructured) *repair {
	return &repair{
		command: &command.Command{}, asked: opts, snapshot: ot.Snapshot(claims, objects...),
		defs: map[lease.Group]*lease.Definition{ot.Shop.Group(): {Lease: ot.Shop}},
	}
}

// Which problems are repaired: testdata/chosen.txt.
//
//	will      [asked] WORD...: one that needs a decision ("manual") is fixed when it is asked for by name, if naming repairs it ("named"), or when a
//	          definition that is given, which is shop's, fixes it; "apply", "kept" and "move" are its repair, of a lease
func TestChosen(t *testing.T) {
	golden.Rules{
		"will": func(line string) string {
			var opts Options
			var p state.Problem
			for _, word := range strings.Fields(line) {
				mend, of, _ := strings.Cut(word, "=")
				switch mend {
				case "asked":
					opts.Of.Problems = []string{"P/x"}
				case "manual":
					p.Manual = true
				case "named":
					p.Named = true
				case "apply", "kept":
					p.Fix = &state.Fix{Do: state.Heal, Kept: mend == "kept", Group: ot.WordLease(t, of).Group()}
				case "move":
					p.Fix = &state.Fix{Do: state.MoveRoutes, Group: ot.WordLease(t, of).Group()}
				}
			}
			r := repairOf(opts, nil)
			return fmt.Sprintf("%t, by a definition %t", r.willRepair(p), r.byDefinition(p))
		},
	}.Check(t, "testdata/chosen.txt")
}

// A turn is for the problems of as many groups as one announcement names, and for one problem at least.
func TestGroupsOf(t *testing.T) {
	group := func(n int) lease.Group { return lease.Group{Owner: "akash1a", DSeq: uint64(n), GSeq: 1} }
	problem := func(from, to int) state.Problem {
		m := &state.Fix{Do: state.EndAnnouncement}
		for n := from; n < to; n++ {
			m.Of = append(m.Of, group(n))
		}
		return state.Problem{Fix: m}
	}
	for name, tt := range map[string]struct {
		problems  []state.Problem
		groups, n int
	}{
		"few":                           {[]state.Problem{problem(1, 3), problem(2, 4)}, 3, 2},
		"as many as are announced":      {[]state.Problem{problem(1, state.MaxAnnounced), problem(1, state.MaxAnnounced+1)}, state.MaxAnnounced, 2},
		"one more":                      {[]state.Problem{problem(1, state.MaxAnnounced), problem(1, state.MaxAnnounced+2)}, state.MaxAnnounced - 1, 1},
		"too many for one announcement": {[]state.Problem{problem(1, state.MaxAnnounced+3), problem(1, 2)}, state.MaxAnnounced + 2, 1},
	} {
		groups, n := repairOf(Options{}, nil).groupsOf(tt.problems)
		if len(groups) != tt.groups || n != tt.n {
			t.Errorf("%s: %d groups of %d problems, want %d of %d", name, len(groups), n, tt.groups, tt.n)
		}
		if !slices.IsSortedFunc(groups, lease.Group.Compare) || slices.Contains(groups, lease.Group{}) {
			t.Errorf("%s: groups %v", name, groups)
		}
	}
}

// A repair is announced for the lease of its problem, the groups that it names, and the owners of its objects. An exhausted
// pool names whoever holds the addresses that it gives back.
func TestWrittenFor(t *testing.T) {
	ingress := ot.Ours(ot.Ingress(ot.Blog, "blog.example.com", "/"))
	route := []state.ObjectRef{observed.RefOf(kinds.Ingress, ingress), {Kind: "ingress", Name: "gone"}}
	leave := func(id lease.ID) *state.Fix {
		return &state.Fix{Do: state.GiveUp, Parts: state.ClaimParts{Group: id.Group()}}
	}
	for name, tt := range map[string]struct {
		fix  *state.Fix
		want []lease.ID
	}{
		"no repair":                   {nil, []lease.ID{ot.Shop}},
		"holders of a claim":          {&state.Fix{Do: state.Release, Parts: state.ClaimParts{Claim: ot.Host(ot.Next, "shop.example.com")}}, []lease.ID{ot.Shop, ot.Next}},
		"owners of what is deleted":   {&state.Fix{Do: state.DeleteObjects, Objects: route}, []lease.ID{ot.Shop, ot.Blog}},
		"holders of a pool's address": {&state.Fix{Do: state.GiveUp, Each: []*state.Fix{leave(ot.Next), leave(ot.Blog)}}, []lease.ID{ot.Shop, ot.Next, ot.Blog}},
	} {
		got, want := map[lease.Group]bool{}, map[lease.Group]bool{}
		for _, g := range repairOf(Options{}, nil, ingress).writtenFor(state.Problem{Lease: ot.Shop.String(), Fix: tt.fix}) {
			got[g] = true
		}
		for _, id := range tt.want {
			want[id.Group()] = true
		}
		delete(got, lease.Group{})
		if !maps.Equal(got, want) {
			t.Errorf("%s: groups %v", name, got)
		}
	}
}

// What has changed since it was read is left for the next call; other errors are told.
func TestAsChanged(t *testing.T) {
	stale := apierrors.NewConflict(cluster.Leases.GroupResource(), "a", errors.New("stale"))
	forbidden := apierrors.NewForbidden(cluster.Leases.GroupResource(), "a", nil)
	for name, tt := range map[string]struct{ err, want error }{
		"nothing":             {nil, nil},
		"a stale object":      {stale, report.ErrChanged},
		"a stale claim":       {fmt.Errorf("%w: %w", ledger.ErrAgain, stale), report.ErrChanged},
		"a write was refused": {forbidden, forbidden},
	} {
		if got := asChanged(tt.err); !errors.Is(got, tt.want) {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// An object that has changed since it was read is left for the next call, whichever way it was to be repaired.
func TestChangedObjectsAreLeft(t *testing.T) {
	service := ot.Annotated(ot.Ours(ot.Service(ot.Shop, 80, "203.0.113.7", "203.0.113.9")), "metallb.io/allow-shared-ip", "old")
	route := ot.Ours(ot.Ingress(ot.Shop, "shop.example.com", "/"))
	gateway := ot.Ours(ot.HTTPRoute(ot.Shop, "shop.example.com", "/"))
	gateway.Object["status"] = map[string]any{"parents": []any{map[string]any{"parentRef": map[string]any{"name": "former"}}}}
	ref, one := observed.RefOf, func(o state.ObjectRef) []state.ObjectRef { return []state.ObjectRef{o} }
	for name, fix := range map[string]*state.Fix{
		"a backend":         {Do: state.RewriteRoute, Objects: one(ref(kinds.Ingress, route)), Part: state.Part{Service: "web", Port: 81}},
		"a sharing key":     {Do: state.SetSharingKey, Objects: one(ref(kinds.Service, service)), Value: "new"},
		"a granted address": {Do: state.DropGrant, Objects: one(ref(kinds.Service, service))},
		"a stale report":    {Do: state.ClearReports, Objects: one(ref(kinds.HTTPRoute, gateway))},
		"lost marks":        {Do: state.RestoreMarks, Objects: one(ref(kinds.Ingress, route)), Value: "hash"},
	} {
		t.Run(name, func(t *testing.T) {
			var live []*unstructured.Unstructured
			for _, o := range []*unstructured.Unstructured{service, route, gateway} {
				now := o.DeepCopy()
				now.SetResourceVersion("8")
				live = append(live, now)
				o.SetResourceVersion("7")
			}
			c, err := cluster.OfObjects(live)
			if err != nil {
				t.Fatal(err)
			}
			r := repairOf(Options{}, nil, service, route, gateway)
			r.command = command.New(c, command.Options{Config: config.Default(), DryRun: command.DryRunClient})
			if err := ways[fix.Do](r, context.WithoutCancel(t.Context()), fix); !errors.Is(err, report.ErrChanged) {
				t.Errorf("%v", err)
			}
		})
	}
}

// What the engine deletes for a problem rests on the claims by which that was found, as they are in the command's turn: routes and DNS records
// whose claim says something else by then stay for the next call.
func TestClaimsOfWhatGoesAreReadAgain(t *testing.T) {
	live := []*unstructured.Unstructured{ot.Ours(ot.DNSRecord(ot.Shop, "shop.example.com")), ot.Ours(ot.Ingress(ot.Shop, "shop.example.com", "/"))}
	c, err := cluster.OfObjects(live)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range live {
		for _, do := range []state.Way{state.DeleteObjects, state.Reject} {
			r := repairOf(Options{}, []*state.Claim{ot.Host(ot.Blog, "shop.example.com")}, live...) // nobody holds it any more
			r.command = command.New(c, command.Options{Config: config.Default(), DryRun: command.DryRunClient})
			fix := &state.Fix{Do: do, Objects: []state.ObjectRef{observed.RefOf(kinds.Of(o.GetKind()), o)}}
			r.problems = []state.Problem{{Problem: state.StrayRecord, Thing: "shop.example.com", Lease: ot.Shop.String(), Fix: fix}}
			if err := r.fixByEngine(t.Context(), fix); !errors.Is(err, report.ErrChanged) {
				t.Errorf("%s of %s: %v", do, o.GetKind(), err)
			}
		}
	}
}

// The claim on an IP endpoint is read again, also if there was none.
func TestClaimOfAnEndpointIsReadAgain(t *testing.T) {
	made := ot.Object(kinds.Kind{GroupVersionKind: cluster.Leases.GroupVersion().WithKind("Lease")}, ot.Shop, state.EndpointName(ot.Key(ot.Shop)), nil)
	made.SetNamespace(config.Default().LedgerNamespace)
	made.SetLabels(map[string]string{state.LabelKind: string(state.Endpoint)})
	for _, live := range [][]*unstructured.Unstructured{nil, {made}} {
		c, err := cluster.OfObjects(live)
		if err != nil {
			t.Fatal(err)
		}
		r := repairOf(Options{}, nil)
		r.command = command.New(c, command.Options{Config: config.Default(), DryRun: command.DryRunClient})
		if err := r.checkClaims(t.Context(), ot.Key(ot.Shop)); errors.Is(err, report.ErrChanged) != (live != nil) {
			t.Errorf("with %d: %v", len(live), err)
		}
	}
}

// Each fix has its own result: how the work on its lease has ended says why only of those that were not done.
func TestResultOf(t *testing.T) {
	denied, lost := errors.New("a webhook denies it"), errors.New("the API server is away")
	for name, tt := range map[string]struct {
		fixed       []error
		ended, want error
	}{
		"done":                        {[]error{nil}, nil, nil},
		"done before the end":         {[]error{nil}, lost, nil},
		"refused":                     {[]error{denied}, lost, denied},
		"not done, as it has changed": {[]error{report.ErrChanged}, nil, report.ErrChanged},
		"not done, as the work ended": {[]error{report.ErrChanged}, lost, lost},
		"nothing was read":            {nil, lost, lost},
	} {
		if got := resultOf(tt.fixed, 0, tt.ended); got != tt.want { //nolint:errorlint // it is the error itself
			t.Errorf("%s: %v", name, got)
		}
	}
}

// A pool that is written while it is looked whether anything uses its addresses stays as it is, whether it is to be narrowed or deleted. One that
// is made again once it is deleted is announced.
func TestPoolIsNarrowedAsItWasRead(t *testing.T) {
	for _, text := range []string{"203.0.113.0-203.0.113.3", "203.0.113.0-203.0.113.1"} {
		taken, err := config.ParseRange(text)
		if err != nil {
			t.Fatal(err)
		}
		for _, between := range []string{"", "written", "made again"} {
			written := between == "written"
			cfg := config.Default()
			s := simtest.New(t, cfg.IP.MetalLBNamespace, cfg.LedgerNamespace)
			at := "/apis/metallb.io/v1beta1/namespaces/" + cfg.IP.MetalLBNamespace + "/ipaddresspools/pool"
			makes := func() {
				s.Put(lease.FieldManager, at, map[string]any{
					"apiVersion": "metallb.io/v1beta1", "kind": "IPAddressPool", "metadata": map[string]any{"name": "pool", "labels": map[string]any{lease.LabelOurs: "true"}},
					"spec": map[string]any{"addresses": []any{"203.0.113.0-203.0.113.3"}},
				})
			}
			makes()
			pool, announces := s.Get(at), strings.Replace(at, "ipaddresspools", "l2advertisements", 1)
			s.Put(lease.FieldManager, announces, map[string]any{
				"apiVersion": "metallb.io/v1beta1", "kind": "L2Advertisement", "metadata": map[string]any{"name": "pool", "labels": map[string]any{lease.LabelOurs: "true"}},
			})
			again := false
			s.Before = func(method, path string) (int, bool) {
				if between == "made again" && method == http.MethodDelete && path == announces && !again {
					again = true
					makes()
					s.Merge(announces, `{"metadata":{"annotations":{"a":"b"}}}`)
				}
				if written && method == http.MethodGet && strings.HasSuffix(path, "/services") {
					s.Merge(at, `{"metadata":{"annotations":{"a":"b"}}}`)
				}
				return 0, false
			}
			r := repairOf(Options{}, nil, pool, s.Get(announces))
			r.command = command.New(s.Connect(), command.Options{Config: cfg, Concurrency: 1})
			fix := &state.Fix{Do: state.NarrowPool, Objects: []state.ObjectRef{observed.RefOf(kinds.IPAddressPool, pool)}, Ranges: []config.Range{taken}, Unused: true}
			err := r.narrow(t.Context(), fix)
			is := s.Get(at)
			if stays := is != nil && reflect.DeepEqual(is.Object["spec"], pool.Object["spec"]); stays != (written || again) || errors.Is(err, report.ErrChanged) != written || !written && err != nil {
				t.Errorf("%s, %s: stays %t, %v", text, between, stays, err)
			}
			if announced := s.Get(announces) != nil; announced != (is != nil) {
				t.Errorf("%s, %s: there is a pool %t, and it is announced %t", text, between, is != nil, announced)
			}
		}
	}
}

// serviceIn is a Service of shop in a server in memory, which was granted the address that it asks for, and a fix with another one.
func serviceIn(t *testing.T) (s *simtest.Server, at string, r *repair, fix *state.Fix) {
	t.Helper()
	service := ot.Service(ot.Shop, 80, "203.0.113.9")
	s, at = simtest.New(t, service.GetNamespace()), "/api/v1/namespaces/"+service.GetNamespace()+"/services/"+service.GetName()
	service.SetUID("")
	service.SetResourceVersion("")
	s.Put(lease.FieldManager, at, service.Object)
	s.Merge(at, `{"status":{"loadBalancer":{"ingress":[{"ip":"203.0.113.9"}]}}}`)
	live := s.Get(at)
	s.Before = func(method, path string) (int, bool) { // the server in memory has no subresources: this is its answer, which is lost
		status := method == http.MethodPatch && path == at+"/status"
		if status {
			s.Merge(at, `{"status":{"loadBalancer":null}}`)
		}
		return 0, status
	}
	r = repairOf(Options{}, nil, live)
	r.command = command.New(s.Connect(), command.Options{Config: config.Default(), Concurrency: 1})
	return s, at, r, &state.Fix{Objects: []state.ObjectRef{observed.RefOf(kinds.Service, live)}, Address: netip.MustParseAddr("203.0.113.7"), Value: "new"}
}

// An edit whose answer was lost is looked for, and not taken for somebody else's.
func TestEditWithoutAnAnswer(t *testing.T) {
	for _, do := range []state.Way{state.SetSharingKey, state.DropGrant} {
		s, at, r, fix := serviceIn(t)
		lost := false
		s.After = func(method, _ string) (int, bool) {
			first := method == http.MethodPatch && !lost
			lost = lost || first
			return 0, first
		}
		fix.Do = do
		if err := ways[do](r, t.Context(), fix); err != nil {
			t.Errorf("%s: %v", do, err)
		}
		uses := state.AddressUses(s.Get(at))
		if do == state.DropGrant && slices.ContainsFunc(uses, func(u state.Use) bool { return u.Granted }) || do == state.SetSharingKey && uses[0].SharingKey != "new" {
			t.Errorf("%s: uses %v", do, uses)
		}
	}
}

// So is one that arrives after it was sent again.
func TestEditThatArrivesLate(t *testing.T) {
	s, at, r, fix := serviceIn(t)
	arrives, sent := s.Before, 0
	s.Before = func(method, path string) (int, bool) {
		if method != http.MethodPatch {
			return 0, false
		}
		if sent++; sent == 1 {
			return 0, true
		}
		arrives(method, path)
		return http.StatusConflict, true
	}
	fix.Do = state.DropGrant
	if err := ways[fix.Do](r, t.Context(), fix); err != nil || sent != 2 || slices.ContainsFunc(state.AddressUses(s.Get(at)), func(u state.Use) bool { return u.Granted }) {
		t.Errorf("%d sent: %v", sent, err)
	}
}

// The second edit of an object rests on what the first one has made of it: a grant stays if the Service asks for something else by then.
func TestEditAfterAnother(t *testing.T) {
	for _, changed := range []bool{false, true} {
		s, at, r, fix := serviceIn(t)
		s.After = func(method, path string) (int, bool) {
			if method == http.MethodPatch && strings.HasSuffix(path, at) && changed {
				s.Merge(at, `{"metadata":{"annotations":{"metallb.universe.tf/loadBalancerIPs":"203.0.113.9"}}}`)
			}
			return 0, false
		}
		fix.Do, fix.Value = state.AskAddress, ""
		err := ways[fix.Do](r, t.Context(), fix)
		granted := slices.ContainsFunc(state.AddressUses(s.Get(at)), func(u state.Use) bool { return u.Granted })
		if errors.Is(err, report.ErrChanged) != changed || !changed && err != nil || granted != changed {
			t.Errorf("changed %t: granted %t, %v", changed, granted, err)
		}
	}
}
