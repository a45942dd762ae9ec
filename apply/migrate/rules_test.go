package migrate

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/command"
	ot "github.com/akash-net/kubectl-akash-net/engine/observed/observedtest"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/dns"
	"github.com/akash-net/kubectl-akash-net/lease/input"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/kept"
	"github.com/akash-net/kubectl-akash-net/state/view"
	"github.com/akash-net/kubectl-akash-net/test/golden"
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
	golden.Rules{"movable": func(line string) string {
		claims, objects, _ := strings.Cut(line, "|")
		m := planned(t, ot.WordClaims(t, claims), append(ot.WordObjects(t, objects), route)...)
		l := m.leases[slices.IndexFunc(m.leases, func(l *leaseMigration) bool { return len(l.routes) > 0 })]
		l.routes[0].ready = true
		err := l.checkMovable()
		return strings.NewReplacer(ot.Shop.Owner, "OWNER", ot.Blog.Owner, "OTHER", ot.Blog.Namespace(), "NS").Replace(fmt.Sprintf("error %v, it stays for %q", err, l.routes[0].why))
	}}.Check(t, "testdata/movable.txt")
}

// akashs is a route of Akash's hostname operator, inForm one that looks like it.
func akashs(o *unstructured.Unstructured) *unstructured.Unstructured { return ot.ByAkash(inForm(o)) }

func inForm(o *unstructured.Unstructured) *unstructured.Unstructured {
	spec := o.Object["spec"].(map[string]any)
	switch o.GetKind() {
	case "Ingress":
		spec["ingressClassName"] = "akash-ingress-class"
		spec["rules"].([]any)[0].(map[string]any)["http"].(map[string]any)["paths"].([]any)[0].(map[string]any)["pathType"] = "Prefix"
	case "HTTPRoute":
		spec["parentRefs"] = []any{map[string]any{"group": "gateway.networking.k8s.io", "kind": "Gateway", "name": "akash-gateway", "namespace": "akash-gateway"}}
		rule := spec["rules"].([]any)[0].(map[string]any)
		rule["matches"].([]any)[0].(map[string]any)["path"].(map[string]any)["type"] = "PathPrefix"
		maps.Copy(rule["backendRefs"].([]any)[0].(map[string]any), map[string]any{"group": "", "kind": "Service", "weight": int64(1)})
	}
	return o
}

// setBy is an object of which a field manager has set a field.
func setBy(o *unstructured.Unstructured, manager, of, field string) *unstructured.Unstructured {
	fields := map[string]any{"f:" + of: map[string]any{"f:" + field: map[string]any{}}}
	if of != "spec" {
		fields = map[string]any{"f:metadata": fields}
		ot.Annotated(o, field, "x")
	}
	metadata := o.Object["metadata"].(map[string]any)
	metadata["managedFields"] = []any{map[string]any{"manager": manager, "operation": "Update", "fieldsV1": fields}}
	return o
}

// The new form of a route is made of the definition that the ledger keeps, if the route was made of that, and nobody has set anything
// else that decides who reaches what. A route of Akash's hostname operator is read, and has to lead where the definition says. A new
// route that Akash's provider wrote has to lead to the same.
func TestMade(t *testing.T) {
	def := &lease.Definition{Lease: ot.Shop, Services: []lease.Service{{Name: "web", Expose: []lease.Expose{
		{Port: 8080, As: 80, Protocol: lease.TCP, Global: true, Hosts: []lease.Host{{Name: shop}}},
	}}}}
	text, err := json.Marshal(input.Encode(def))
	if err != nil {
		t.Fatal(err)
	}
	def, _ = input.DefinitionObject("", text)
	keeps, err := kept.New(def, "")
	if err != nil {
		t.Fatal(err)
	}
	ours := func(hash string) *unstructured.Unstructured {
		return ot.Annotated(inForm(ot.Ingress(ot.Shop, shop, "/")), lease.AnnotationDefinition, hash)
	}
	other := func(o *unstructured.Unstructured, service string) *unstructured.Unstructured {
		o.Object["spec"].(map[string]any)["rules"].([]any)[0].(map[string]any)["backendRefs"].([]any)[0].(map[string]any)["name"] = service
		return o
	}
	for name, tt := range map[string]struct {
		kept     *kept.Definition
		old, new *unstructured.Unstructured
		why      string
	}{
		"of the kept definition":      {keeps, ours(def.Hash), nil, ""},
		"of another one":              {keeps, ours("former"), nil, "the ledger keeps another definition of its lease than the one that it was made of: apply the definition first"},
		"of another one, which is on": {keeps, ours("former"), ot.Annotated(ot.HTTPRoute(ot.Shop, shop, "/"), lease.AnnotationDefinition, def.Hash), ""},
		"nothing is kept":             {nil, ot.Ours(ot.Ingress(ot.Shop, shop, "/")), nil, "the ledger keeps no definition of its lease, and its spec.ingressClassName is not what Akash's hostname operator writes with the provider's configuration: apply the definition first"},
		"as Akash's was migrated":     {nil, ours("migrated"), nil, ""},
		"an annotation of a person's": {keeps, setBy(ours(def.Hash), "kubectl-annotate", "annotations", "nginx.ingress.kubernetes.io/canary"), nil, "kubectl-annotate has set its annotation nginx.ingress.kubernetes.io/canary: x, which may decide who reaches what"},
		"an annotation of a tool's":   {keeps, setBy(ours(def.Hash), "helm", "annotations", "meta.helm.sh/release-name"), nil, ""},
		"a spec of a person's":        {keeps, setBy(ours(def.Hash), "kubectl-edit", "spec", "rules"), nil, "kubectl-edit has set its spec.rules"},
		"Akash's":                     {nil, akashs(ot.Ingress(ot.Shop, shop, "/")), nil, ""},
		"Akash's, which is defined":   {keeps, akashs(ot.Ingress(ot.Shop, shop, "/")), nil, ""},
		"Akash's, which is not":       {keeps, akashs(ot.Ingress(ot.Shop, "other.example.com", "/")), nil, ""},
		"Akash's, changed":            {nil, ot.Annotated(akashs(ot.Ingress(ot.Shop, shop, "/")), "konghq.com/plugins", "key-auth"), nil, "konghq.com/plugins: key-auth may decide who reaches what, and Akash's hostname operator does not write that: apply the definition first"},
		"its successor leads there":   {keeps, ours(def.Hash), akashs(ot.HTTPRoute(ot.Shop, shop, "/")), ""},
		"its successor does not":      {keeps, ours(def.Hash), akashs(other(ot.HTTPRoute(ot.Shop, shop, "/"), "api")), "leads " + shop + " to api:80"},
		"its successor is ours":       {keeps, ours(def.Hash), ot.Ours(other(ot.HTTPRoute(ot.Shop, shop, "/"), "api")), ""},
	} {
		t.Run(name, func(t *testing.T) {
			objects := []*unstructured.Unstructured{tt.old}
			if tt.new != nil {
				objects = append(objects, tt.new)
			}
			l := planned(t, nil, objects...).leases[0]
			c := l.routes[0]
			c.ready, l.x.Snapshot.Definitions = true, map[string]*kept.Definition{kept.Name(ot.Shop.Group()): tt.kept}
			if l.renderRoutes(); c.why == "" {
				c.why = l.leadsElsewhere(c, l.x.Snapshot.Find(c.main()))
			}
			if (c.why == "") != (tt.why == "") || !strings.Contains(c.why, tt.why) {
				t.Errorf("%q, want %q", c.why, tt.why)
			}
		})
	}
}

// DNS changes for a host only when each of its routes has a new form, whichever lease of the owner it is of.
func TestLacking(t *testing.T) {
	golden.Rules{"lacking": func(line string) string {
		l := planned(t, nil, append(ot.WordObjects(t, line), ot.Ours(ot.Ingress(ot.Shop, shop, "/")), ot.Ours(ot.HTTPRoute(ot.Shop, shop, "/")))...).leases[0]
		l.x.Group = ot.Shop.Group()
		return strings.NewReplacer(ot.Next.Namespace(), "NS").Replace(l.lacking(shop))
	}}.Check(t, "testdata/lacking.txt")
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

// Resolvers keep an answer for the longest of the TTLs of the host's own records; one that is not said is
// that of who serves it.
func TestLongestTTL(t *testing.T) {
	record := func(name string, kind dns.Type, ttl int64) dns.Record {
		return dns.Record{Name: name, Type: kind, TTL: ttl}
	}
	for name, c := range map[string]struct {
		kind    kinds.Kind
		records []dns.Record
		want    time.Duration
	}{
		"the longest":      {kinds.DNSEndpoint, []dns.Record{record("h", dns.A, 60), record("h", dns.AAAA, 600)}, 10 * time.Minute},
		"not that of text": {kinds.DNSEndpoint, []dns.Record{record("h", dns.A, 60), record("h", dns.TXT, 600), record("_akash-net.h", dns.TXT, 600)}, time.Minute},
		"Gardener's":       {kinds.DNSRecord, []dns.Record{record("h", dns.A, 0)}, 2 * time.Minute},
		"external-dns'":    {kinds.DNSEndpoint, []dns.Record{record("h", dns.CNAME, 0)}, 5 * time.Minute},
		"none":             {kinds.DNSRecord, []dns.Record{record("_akash-net.h", dns.TXT, 0)}, 0},
	} {
		o := view.RecordObject{Labelled: state.Labelled{Kind: c.kind.Singular}, Records: c.records}
		if got := longestTTL("h", o); got != c.want {
			t.Errorf("%s: got %s, want %s", name, got, c.want)
		}
	}
}
