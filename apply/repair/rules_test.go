package repair

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/command"
	"github.com/akash-net/kubectl-akash-net/apply/ledger"
	"github.com/akash-net/kubectl-akash-net/apply/observed"
	ot "github.com/akash-net/kubectl-akash-net/apply/observed/observedtest"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/report"
	"github.com/akash-net/kubectl-akash-net/state"
)

func object(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{}
	data, err := yaml.YAMLToJSON([]byte(text))
	if err == nil {
		err = utiljson.Unmarshal(data, &o.Object)
	}
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// A route with one rule gets the backend of the claim; one that does not look like ours is left as it is.
func TestSetBackend(t *testing.T) {
	for name, tt := range map[string]struct{ route, want, err string }{
		"an Ingress with a port number": {
			`{kind: Ingress, spec: {rules: [{http: {paths: [{path: /, backend: {service: {name: old, port: {number: 1}}}}]}}]}}`,
			`{kind: Ingress, spec: {rules: [{http: {paths: [{path: /, backend: {service: {name: web, port: {number: 80}}}}]}}]}}`, ""},
		"an Ingress with a port name": {
			`{kind: Ingress, spec: {rules: [{http: {paths: [{backend: {service: {name: old, port: {name: http}}}}]}}]}}`,
			`{kind: Ingress, spec: {rules: [{http: {paths: [{backend: {service: {name: web, port: {number: 80}}}}]}}]}}`, ""},
		"an HTTPRoute":                           {`{kind: HTTPRoute, spec: {rules: [{backendRefs: [{name: old, port: 1, weight: 3}]}]}}`, `{kind: HTTPRoute, spec: {rules: [{backendRefs: [{name: web, port: 80, weight: 3}]}]}}`, ""},
		"a Route, whose port is the container's": {`{kind: Route, spec: {to: {kind: Service, name: old}, port: {targetPort: 8080}}}`, `{kind: Route, spec: {to: {kind: Service, name: web}, port: {targetPort: 8080}}}`, ""},
		"two rules": {
			`{kind: HTTPRoute, metadata: {namespace: one, name: a.example.com}, spec: {rules: [{}, {}]}}`, "", "it has 2 rules, paths or backends where one is expected; delete it (kubectl -n one delete httproute a.example.com), and repair with -f"},
		"no backend":                  {`{kind: TLSRoute, spec: {rules: [{}]}}`, "", "it has no backend ([rules 0 backendRefs] is missing)"},
		"a backend that is no object": {`{kind: TLSRoute, spec: {rules: [{backendRefs: [old]}]}}`, "", "its backend cannot be read"},
	} {
		o := object(t, tt.route)
		err := setBackend(o, "web", 80)
		if text := fmt.Sprint(err); tt.err != "" && text != tt.err || tt.err == "" && err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if tt.err != "" {
			continue
		}
		got, _ := yaml.Marshal(o.Object)
		want, _ := yaml.Marshal(object(t, tt.want).Object)
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}

// Akash's label is given back only to objects that Akash's operators may read.
func TestMarkLabels(t *testing.T) {
	for name, tt := range map[string]struct {
		has       map[string]string
		claimLike bool
		managed   string
		ours      string
	}{
		"a route that Akash knows":         {map[string]string{lease.LabelManaged: "true"}, false, "true", ""},
		"a route that Akash does not know": {nil, false, "", "true"},
		"a ProviderHost":                   {nil, true, "true", ""},
	} {
		got := markLabels(ot.Shop, tt.has, tt.claimLike)
		if got[lease.LabelManaged] != tt.managed || got[lease.LabelOurs] != tt.ours {
			t.Errorf("%s: %v", name, got)
		}
		if id, ok := lease.IDFromLabels(got); !ok || id != ot.Shop {
			t.Errorf("%s names lease %v", name, id)
		}
	}
}

// The backend that Akash declares is read from the field that its kind has for the port.
func TestDeclaredBackend(t *testing.T) {
	for text, want := range map[string]string{
		`{kind: ProviderHost, spec: {service_name: web, external_port: 80, port: 1}}`:        "web:80",
		`{kind: ProviderLeasedIP, spec: {service_name: game, external_port: 1, port: 9000}}`: "game:9000",
		`{kind: ProviderHost}`: ":0",
	} {
		service, port := declaredBackend(object(t, text))
		if got := fmt.Sprintf("%s:%d", service, port); got != want {
			t.Errorf("%s: %s", text, got)
		}
	}
}

// repairOf is the repair of a cluster with these claims and objects.
func repairOf(opts Options, claims []*state.Claim, objects ...*unstructured.Unstructured) *repair {
	return &repair{
		command: &command.Command{}, asked: opts, snapshot: ot.Snapshot(claims, objects...),
		defs: map[lease.Group]*lease.Definition{ot.Shop.Group(): {Lease: ot.Shop}},
	}
}

// A problem that needs a decision is fixed when it is named, or when a definition that is given fixes it.
func TestWillRepair(t *testing.T) {
	named := Options{Problems: []string{"P/x"}}
	for name, tt := range map[string]struct {
		opts        Options
		p           state.Problem
		will, byDef bool
	}{
		"a safe repair":                                 {Options{}, state.Problem{}, true, false},
		"one that needs a decision":                     {Options{}, state.Problem{Manual: true, Named: true}, false, false},
		"one that is named":                             {named, state.Problem{Manual: true, Named: true}, true, false},
		"one that naming does not repair":               {named, state.Problem{Manual: true}, false, false},
		"a given definition":                            {Options{}, state.Problem{Manual: true, Mend: state.ApplyDefinition{Group: ot.Shop.Group()}}, true, true},
		"no definition":                                 {Options{}, state.Problem{Manual: true, Mend: state.ApplyDefinition{Group: ot.Next.Group()}}, false, false},
		"a stored definition":                           {Options{}, state.Problem{Mend: state.ApplyDefinition{Kept: true, Group: ot.Next.Group()}}, true, true},
		"a stored definition that needs a decision":     {Options{}, state.Problem{Manual: true, Named: true, Mend: state.ApplyDefinition{Kept: true, Group: ot.Next.Group()}}, false, false},
		"a stored definition, and the problem is named": {named, state.Problem{Manual: true, Named: true, Mend: state.ApplyDefinition{Kept: true, Group: ot.Next.Group()}}, true, true},
		"routes that move, and the problem is named":    {named, state.Problem{Manual: true, Named: true, Mend: state.MoveRoutes{Group: ot.Next.Group()}}, true, false},
		"routes that a given definition moves":          {Options{}, state.Problem{Manual: true, Named: true, Mend: state.MoveRoutes{Group: ot.Shop.Group()}}, true, true},
	} {
		r := repairOf(tt.opts, nil)
		if r.willRepair(tt.p) != tt.will || r.byDefinition(tt.p) != tt.byDef {
			t.Errorf("%s: repaired %t, by a definition %t", name, r.willRepair(tt.p), r.byDefinition(tt.p))
		}
	}
}

// Named problems are selected, and a name that no problem has is an error.
func TestSelected(t *testing.T) {
	found := []state.Problem{{Problem: "A", Thing: "x"}, {Problem: "B", Thing: "y"}}
	for name, tt := range map[string]struct {
		names, want []string
		err         string
	}{
		"all":       {nil, []string{"A/x", "B/y"}, ""},
		"one":       {[]string{"B/y"}, []string{"B/y"}, ""},
		"none such": {[]string{"B/y", "A/y"}, nil, "A/y is no problem of this cluster now, and nothing was changed; \"kubectl akash-net repair --dry-run\" lists those that there are"},
	} {
		got, err := repairOf(Options{Problems: tt.names}, nil).selected(slices.Clone(found))
		var names []string
		for _, p := range got {
			names = append(names, p.Name())
		}
		if !slices.Equal(names, tt.want) || err == nil && tt.err != "" || err != nil && err.Error() != tt.err {
			t.Errorf("%s: %q, %v", name, names, err)
		}
	}
}

// A turn is for the problems of as many groups as one announcement names, and for one problem at least.
func TestGroupsOf(t *testing.T) {
	group := func(n int) lease.Group { return lease.Group{Owner: "akash1a", DSeq: uint64(n), GSeq: 1} }
	problem := func(from, to int) state.Problem {
		var m state.DropAnnouncement
		for n := from; n < to; n++ {
			m.Of = append(m.Of, group(n))
		}
		return state.Problem{Mend: m}
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
	leave := func(id lease.ID) state.LeaveParts {
		return state.LeaveParts{Parts: state.ClaimParts{Group: id.Group()}}
	}
	for name, tt := range map[string]struct {
		mend state.Mend
		want []lease.ID
	}{
		"no repair":                   {nil, []lease.ID{ot.Shop}},
		"holders of a claim":          {state.ReleaseClaim{Claim: ot.Host(ot.Next, "shop.example.com")}, []lease.ID{ot.Shop, ot.Next}},
		"owners of what is deleted":   {state.DeleteObjects{Delete: route}, []lease.ID{ot.Shop, ot.Blog}},
		"holders of a pool's address": {state.FreeAddresses{Leave: []state.LeaveParts{leave(ot.Next), leave(ot.Blog)}}, []lease.ID{ot.Shop, ot.Next, ot.Blog}},
	} {
		got, want := map[lease.Group]bool{}, map[lease.Group]bool{}
		for _, g := range repairOf(Options{}, nil, ingress).writtenFor(state.Problem{Lease: ot.Shop.String(), Mend: tt.mend}) {
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

// What serves a ProviderHost is another object of its host; what serves a ProviderLeasedIP is a Service of its port.
func TestServes(t *testing.T) {
	host, port := ot.ProviderHost(ot.Shop, "shop.example.com"), ot.ProviderLeasedIP(ot.Shop, 80)
	for name, tt := range map[string]struct {
		declared *unstructured.Unstructured
		objects  []*unstructured.Unstructured
		want     bool
	}{
		"the host alone":             {host, []*unstructured.Unstructured{host}, false},
		"a route of the host":        {host, []*unstructured.Unstructured{host, ot.Ingress(ot.Shop, "shop.example.com", "/")}, true},
		"a route of another host":    {host, []*unstructured.Unstructured{host, ot.Ingress(ot.Shop, "a.example.com", "/")}, false},
		"a Service of the port":      {port, []*unstructured.Unstructured{port, ot.Service(ot.Shop, 80, "")}, true},
		"a Service of another port":  {port, []*unstructured.Unstructured{port, ot.Service(ot.Shop, 81, "")}, false},
		"a Service of another owner": {port, []*unstructured.Unstructured{port, ot.Service(ot.Blog, 80, "")}, false},
	} {
		if got := serves(ot.Snapshot(nil, tt.objects...), tt.declared, []lease.Group{ot.Shop.Group()}); got != tt.want {
			t.Errorf("%s: %t", name, got)
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

// What repair says of a problem names the lease, or as much of it as the problem does.
func TestLeaseOfAProblem(t *testing.T) {
	id := lease.ID{Owner: "akash1h24fljt7p0nh82cq0za0uhsct3sfwsfu9w3c9h", DSeq: 7, GSeq: 1, OSeq: 1, Provider: "akash1nxq8gmsw2vlz3m68qvyvcf3kh6q269ajvqw6y0"}
	for text, want := range map[string]lease.ID{
		id.String():         id,
		id.Group().String(): {Owner: id.Owner, DSeq: id.DSeq, GSeq: id.GSeq},
		"":                  {},
		"a/b/c":             {},
	} {
		if got := leaseOf(state.Problem{Lease: text}); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

// An object that has changed since it was read is left for the next call, whichever way it was to be repaired.
func TestChangedObjectsAreLeft(t *testing.T) {
	service := ot.Annotated(ot.Ours(ot.Service(ot.Shop, 80, "203.0.113.7")), "metallb.io/allow-shared-ip", "old")
	route := ot.Ours(ot.Ingress(ot.Shop, "shop.example.com", "/"))
	gateway := ot.Ours(ot.HTTPRoute(ot.Shop, "shop.example.com", "/"))
	ref := observed.RefOf
	for name, mend := range map[string]state.Mend{
		"a backend":         state.RewriteRoute{Route: ref(kinds.Ingress, route), Part: state.Part{Service: "web", Port: 81}},
		"a sharing key":     state.SetSharingKey{Service: ref(kinds.Service, service), SharingKey: "new"},
		"a granted address": state.DropGrant{Service: ref(kinds.Service, service)},
		"a stale report":    state.ClearReports{Route: ref(kinds.HTTPRoute, gateway)},
		"lost marks":        state.RestoreMarks{Object: ref(kinds.Ingress, route), Hash: "hash"},
		"a stray route":     state.DeleteObjects{Delete: []state.ObjectRef{ref(kinds.Ingress, route)}},
		"a stray Service":   state.DeleteObjects{Delete: []state.ObjectRef{ref(kinds.Service, service)}},
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
			if _, err := r.execute(context.WithoutCancel(t.Context()), mend); !errors.Is(err, report.ErrChanged) {
				t.Errorf("%v", err)
			}
		})
	}
}
