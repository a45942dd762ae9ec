package migrate

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/command"
	"github.com/akash-net/kubectl-akash-net/apply/executor"
	"github.com/akash-net/kubectl-akash-net/apply/observed"
	ot "github.com/akash-net/kubectl-akash-net/apply/observed/observedtest"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
)

const shop = "shop.example.com"

// planned is the migration to HTTPRoutes of a cluster with these claims and objects.
func planned(t *testing.T, claims []*state.Claim, objects ...*unstructured.Unstructured) *Migration {
	t.Helper()
	c, err := cluster.OfObjects(objects)
	if err != nil {
		t.Fatal(err)
	}
	cfg := config.Default()
	cfg.Target = config.TargetHTTPRoute
	cmd := command.New(c, command.Options{Config: cfg, Concurrency: 4})
	m, err := Plan(t.Context(), cmd, func(lease.ID) bool { return true }, Options{})
	if err != nil {
		t.Fatal(err)
	}
	snapshot := ot.Snapshot(claims, objects...)
	for _, l := range m.leases {
		l.x.Snapshot = snapshot
	}
	return m
}

// Routes of the other kinds that this program or Akash's provider wrote are to move; redirects go with theirs, and what
// somebody else wrote stays.
func TestPlan(t *testing.T) {
	foreign := ot.Ingress(ot.Shop, "foreign.example.com", "/")
	labels := foreign.GetLabels()
	delete(labels, lease.LabelManaged)
	foreign.SetLabels(labels)
	m := planned(t, nil,
		ot.Ours(ot.Ingress(ot.Shop, shop, "/")), ot.ByAkash(ot.Ingress(ot.Blog, "blog.example.com", "/")), foreign,
		ot.Ours(ot.Redirect(ot.Shop, shop)), ot.Ours(ot.HTTPRoute(ot.Next, "next.example.com", "/")),
	)
	if got := m.Leases(); len(got) != 3 || m.Routes() != 2 {
		t.Errorf("%d routes of leases %v", m.Routes(), got)
	}
	if got := m.Staying(); len(got) != 2 {
		t.Errorf("before it ran %q do not stay", got)
	}
}

// A host is held by its lease, or nobody has claimed it and nobody else serves it. A part that another deployment of the
// owner holds leaves the route where it is.
func TestCheckMovable(t *testing.T) {
	route := ot.Ours(ot.Ingress(ot.Shop, shop, "/"))
	for name, tt := range map[string]struct {
		claims  []*state.Claim
		objects []*unstructured.Unstructured
		held    string
		why     string
	}{
		"its lease holds it":        {[]*state.Claim{ot.Host(ot.Shop, shop)}, nil, "", ""},
		"nobody has claimed it":     {nil, nil, "", ""},
		"another owner holds it":    {[]*state.Claim{ot.Host(ot.Blog, shop)}, nil, "held by lease " + ot.Blog.String(), ""},
		"another owner serves it":   {nil, []*unstructured.Unstructured{ot.HTTPRoute(ot.Blog, shop, "/a")}, "held by httproute", ""},
		"another deployment has it": {[]*state.Claim{ot.Host(ot.Next, shop)}, nil, "", "the lease does not hold " + shop},
		"it holds another path":     {[]*state.Claim{ot.Host(ot.Shop, shop, "/a")}, nil, "", "the lease does not hold " + shop},
	} {
		t.Run(name, func(t *testing.T) {
			m := planned(t, tt.claims, append(tt.objects, route)...)
			l := m.leases[slices.IndexFunc(m.leases, func(l *leaseMigration) bool { return len(l.routes) > 0 })]
			err := l.checkMovable()
			if (err == nil) != (tt.held == "") || err != nil && !strings.Contains(err.Error(), tt.held) {
				t.Errorf("%v", err)
			}
			if why := l.routes[0].why; !strings.HasPrefix(why, tt.why) || tt.why == "" && why != "" {
				t.Errorf("the route stays, for %q", why)
			}
		})
	}
}

// Before the old route goes, the new one that Akash's provider wrote still has to lead to the same. What this program wrote is its
// own business.
func TestCheckSuccessor(t *testing.T) {
	successor := func(service string) *unstructured.Unstructured {
		o := ot.HTTPRoute(ot.Shop, shop, "/")
		spec := o.Object["spec"].(map[string]any)
		spec["parentRefs"] = []any{map[string]any{"name": "akash-gateway", "namespace": "akash-gateway"}}
		spec["rules"] = []any{map[string]any{
			"matches":     []any{map[string]any{"path": map[string]any{"type": "PathPrefix", "value": "/"}}},
			"backendRefs": []any{map[string]any{"name": service, "port": int64(80)}},
		}}
		return o
	}
	for name, tt := range map[string]struct {
		route *unstructured.Unstructured
		why   string
	}{
		"it leads to the same":                    {ot.ByAkash(successor("web")), ""},
		"it leads to another service":             {ot.ByAkash(successor("api")), "leads " + shop + " to api:80"},
		"this program's leads to another service": {ot.Ours(successor("api")), ""},
	} {
		t.Run(name, func(t *testing.T) {
			l := planned(t, nil, ot.Ours(ot.Ingress(ot.Shop, shop, "/")), tt.route).leases[0]
			l.renderRoutes()
			err := l.checkSuccessor(t.Context(), &marks{}, l.routes[0])
			if _, yielded := errors.AsType[*YieldedError](err); yielded != (tt.why != "") || yielded && !strings.Contains(err.Error(), tt.why) || err != nil && !yielded {
				t.Errorf("%v, want %q", err, tt.why)
			}
		})
	}
}

// DNS changes for a host only when each of its routes has a new form, whichever lease of the owner it is of.
func TestLacking(t *testing.T) {
	for name, tt := range map[string]struct {
		others []*unstructured.Unstructured
		ready  []string
		want   bool
	}{
		"its only route":                 {nil, []string{"/"}, false},
		"a route that has no new form":   {[]*unstructured.Unstructured{ot.Ours(ot.Ingress(ot.Next, shop, "/a"))}, []string{"/"}, true},
		"a route that has one, too":      {[]*unstructured.Unstructured{ot.Ours(ot.Ingress(ot.Next, shop, "/a"))}, []string{"/", "/a"}, false},
		"a route with a new form before": {[]*unstructured.Unstructured{ot.Ours(ot.Ingress(ot.Next, shop, "/a")), ot.HTTPRoute(ot.Next, shop, "/a")}, []string{"/"}, false},
		"a route of another owner":       {[]*unstructured.Unstructured{ot.Ours(ot.Ingress(ot.Blog, shop, "/a"))}, []string{"/"}, false},
		"a redirect":                     {[]*unstructured.Unstructured{ot.Ours(ot.Redirect(ot.Shop, shop))}, []string{"/"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			m := planned(t, nil, append(tt.others, ot.Ours(ot.Ingress(ot.Shop, shop, "/")))...)
			for _, l := range m.leases {
				for _, c := range l.routes {
					c.ready = slices.Contains(tt.ready, c.use.Path) && l.x.Group.Owner == ot.Shop.Owner
				}
			}
			if got := m.lacking(); (got[shop] != "") != tt.want {
				t.Errorf("%q", got)
			}
		})
	}
}

// Companion objects of routes that stay are needed: those with the route's name, its redirect, and those of its Services.
func TestNeeded(t *testing.T) {
	stays, goes := ot.HTTPRoute(ot.Shop, shop, "/"), ot.HTTPRoute(ot.Shop, "www.example.com", "/")
	m := &leaseMigration{}
	for _, o := range []*unstructured.Unstructured{stays, goes} {
		m.routes = append(m.routes, &crossing{old: observed.Owned{Kind: kinds.HTTPRoute, Live: o}})
	}
	got := m.needed(map[*unstructured.Unstructured]bool{goes: true})
	for name, want := range map[string]bool{
		kinds.HTTPRoute.Plural + "/" + lease.RedirectName(stays.GetName()): true, kinds.BackendTLSPolicy.Plural + "/web": true,
		kinds.HTTPRoute.Plural + "/" + lease.RedirectName(goes.GetName()): false,
		kinds.Policies[0].Plural + "/" + stays.GetName():                  true, kinds.Policies[0].Plural + "/" + goes.GetName(): false,
	} {
		if got[name] != want {
			t.Errorf("%s is needed: %t", name, got[name])
		}
	}
}

// The error of routes that stay a while names the latest time.
func TestSettlingError(t *testing.T) {
	now := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	e := &SettlingError{Lease: ot.Shop}
	for host, after := range map[string]time.Duration{shop: time.Minute, "www.example.com": time.Hour, "a.example.com": time.Second} {
		e.add(&crossing{old: ot.Owned(ot.Ingress(ot.Shop, host, "/")), stays: now.Add(after)}, now)
	}
	if e.After != time.Hour || len(e.Routes) != 3 || !strings.Contains(e.Error(), "until 13:00:00 UTC") {
		t.Errorf("%+v: %v", e, e)
	}
}

// What a command has created is unneeded where its lease holds nothing that it serves, or by this command's mark alone. Of a command
// that was taken for crashed no mark counts.
func TestIsUnneeded(t *testing.T) {
	marked := func(run string) state.Part {
		p := ot.Host(ot.Shop, shop).Parts[0]
		p.Run = run
		return p
	}
	made := ot.HTTPRoute(ot.Shop, shop, "/")
	made.SetResourceVersion("7")
	touched := made.DeepCopy()
	touched.SetResourceVersion("8")
	moved := made.DeepCopy()
	moved.SetLabels(ot.Next.Labels())
	for name, tt := range map[string]struct {
		part state.Part
		now  *unstructured.Unstructured
		lost bool
		want bool
	}{
		"this command's mark":                  {marked("run"), touched, false, true},
		"another command's mark":               {marked("other"), touched, false, false},
		"no mark":                              {marked(""), touched, false, false},
		"it was taken for crashed":             {marked("run"), touched, true, false},
		"it is another lease's by now":         {marked("run"), moved, false, false},
		"the lease holds another path":         {ot.Host(ot.Shop, shop, "/a").Parts[0], touched, false, true},
		"it was taken for crashed, so does it": {ot.Host(ot.Shop, shop, "/a").Parts[0], touched, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			claim := &state.Claim{Kind: state.Host, Thing: shop, Owner: ot.Shop.Owner}
			kept := render.Rendered(render.Object{Config: claim.Configuration(config.Default().LedgerNamespace, []state.Part{tt.part})})
			c, err := cluster.OfObjects([]*unstructured.Unstructured{kept})
			if err != nil {
				t.Fatal(err)
			}
			l := &leaseMigration{x: executor.New(command.New(c, command.Options{Config: config.Default()}), state.Request{Lease: ot.Shop})}
			l.x.Ledger.Own("run")
			o := observed.Owned{Kind: kinds.HTTPRoute, Live: made, Group: ot.Shop.Group()}
			if got, err := l.isUnneeded(t.Context(), &marks{run: "run"}, o, tt.now, tt.lost); err != nil || got != tt.want {
				t.Errorf("unneeded: %t, %v", got, err)
			}
		})
	}
}

// What rests on a claim that another run had marked is written even if it is as wanted; what rests on others is not.
func TestTouches(t *testing.T) {
	with := func(touch bool) map[string]*markedClaim {
		return map[string]*markedClaim{state.HostName(shop): {now: ot.Host(ot.Shop, shop), touch: touch}}
	}
	route := func(host string) *unstructured.Unstructured { return ot.HTTPRoute(ot.Shop, host, "/") }
	for name, tt := range map[string]struct {
		claims map[string]*markedClaim
		live   *unstructured.Unstructured
		want   bool
	}{
		"another run had marked it": {with(true), route(shop), true},
		"nobody had marked it":      {with(false), route(shop), false},
		"another host":              {with(true), route("www.example.com"), false},
		"nothing is marked":         {nil, route(shop), false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := (&marks{claims: tt.claims}).touches(cluster.Applicable(kinds.HTTPRoute, tt.live), ot.Shop.Group()); got != tt.want {
				t.Errorf("touched: %t", got)
			}
		})
	}
}
