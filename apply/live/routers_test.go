package live

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/command"
	"github.com/akash-net/kubectl-akash-net/apply/executor"
	"github.com/akash-net/kubectl-akash-net/engine/observed"
	ot "github.com/akash-net/kubectl-akash-net/engine/observed/observedtest"
	"github.com/akash-net/kubectl-akash-net/engine/report"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/test/golden"
)

const shop = "shop.example.com"

// The first router that accepts a route is told, with a backend that it does not find.
func TestAcceptance(t *testing.T) {
	type says struct{ by, accepted, resolved string }
	of := func(all ...says) *unstructured.Unstructured {
		o := ot.Object(kinds.HTTPRoute, ot.Shop, shop, nil)
		var refs, parents []any
		for _, s := range all {
			ref := map[string]any{"name": s.by, "namespace": "gw"}
			refs = append(refs, ref)
			parents = append(parents, map[string]any{"parentRef": ref, "controllerName": "c", "conditions": []any{
				map[string]any{"type": "Accepted", "status": s.accepted}, map[string]any{"type": "ResolvedRefs", "status": s.resolved, "reason": "BackendNotFound", "message": "no service web"},
			}})
		}
		o.Object["spec"], o.Object["status"] = map[string]any{"parentRefs": refs}, map[string]any{"parents": parents}
		return o
	}
	refused, accepted, unresolved := says{"a", "False", "True"}, says{"b", "True", "True"}, says{"c", "True", "False"}
	for name, tt := range map[string]struct {
		live *unstructured.Unstructured
		want string
	}{
		"accepted":                 {of(refused, accepted, unresolved), "by gw/b"},
		"accepted, and unresolved": {of(unresolved), "by gw/c, which does not find its backend yet (BackendNotFound: no service web)"},
		"by nobody":                {of(refused), ""},
		"it is not there":          {nil, ""},
	} {
		if got := acceptance(tt.live); got.Message != tt.want || (got.Action == report.Accepted) != (tt.want != "") {
			t.Errorf("%s: %q %q", name, got.Action, got.Message)
		}
	}
}

// A route that was accepted when it was read is not waited for again.
func TestAcceptedAlready(t *testing.T) {
	judged := func(verdict string) *unstructured.Unstructured {
		o := ot.Object(kinds.Route, ot.Shop, shop, map[string]any{"host": shop})
		if verdict != "" {
			o.Object["status"] = map[string]any{"ingress": []any{map[string]any{"host": shop, "routerName": "default", "conditions": []any{map[string]any{"type": "Admitted", "status": verdict}}}}}
		}
		return o
	}
	for name, tt := range map[string]struct {
		live *unstructured.Unstructured
		want bool
	}{
		"it is not there": {nil, false}, "accepted": {judged("True"), true}, "refused": {judged("False"), false}, "nobody reports on it": {judged(""), true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := acceptedAlready(tt.live); got != tt.want {
				t.Errorf("accepted: %t, want %t", got, tt.want)
			}
		})
	}
}

// A lease is known to serve as defined where somebody reports on each route, and Akash's operator gives it the options of
// the definition.
func TestAcceptedIsKnown(t *testing.T) {
	route := ot.Object(kinds.Route, ot.Shop, shop, map[string]any{"host": shop})
	exposed := map[string]any{"port": int64(80), "external_port": int64(80), "global": true, "http_options": map[string]any{
		"max_body_size": int64(1048576), "read_timeout": int64(5000), "send_timeout": int64(60000), "next_tries": int64(3), "next_cases": []any{"error", "timeout"},
	}}
	manifest := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"group": map[string]any{"services": []any{
		map[string]any{"name": "web", "count": int64(1), "expose": []any{exposed}},
	}}}}}
	for name, tt := range map[string]struct {
		routed  *unstructured.Unstructured
		changed bool
		timeout time.Duration
		want    bool
	}{
		"nobody reports on a changed lease":   {route, true, 0, false},
		"nobody reports, nothing has changed": {route, false, 0, true},
		"an Ingress, on which nobody reports": {ot.Ingress(ot.Shop, shop, "/"), true, 0, true},
		"the operator gives other options":    {ot.Ingress(ot.Shop, shop, "/"), true, time.Minute, false},
		"the operator gives these options":    {ot.Ingress(ot.Shop, shop, "/"), true, 5 * time.Second, true},
	} {
		x := executor.New(&command.Command{Options: command.Options{Config: config.Default(), Report: func(report.Event) {}}}, state.Request{Lease: ot.Shop})
		x.Snapshot = ot.Snapshot(nil, route)
		x.Snapshot.Operators.Hostname, x.Snapshot.Manifests = tt.timeout > 0, observed.Manifests{ot.Shop.Namespace(): manifest}
		if tt.changed {
			x.Event(report.Created, "ingress", "ns", "shop", "")
		}
		l := &Lease{X: x, Desired: []render.Object{cluster.Applicable(kinds.Of(tt.routed.GetKind()), tt.routed)}, Definition: &lease.Definition{
			Lease: ot.Shop, Services: []lease.Service{{Name: "web", Expose: []lease.Expose{{Port: 80, Protocol: lease.TCP, Global: true, Hosts: []lease.Host{{Name: shop}}, HTTP: lease.HTTPOptions{ReadTimeout: tt.timeout}}}}},
		}}
		if known, err := l.Accepted(t.Context()); err != nil || known != tt.want {
			t.Errorf("%s: known is %t, %v", name, known, err)
		}
	}
}

// service returns a Service of the shop that asks for addresses, or was granted them.
func service(name string, asks, has []string) *unstructured.Unstructured {
	o := ot.Object(kinds.Service, ot.Shop, name, nil)
	if o.SetUID(types.UID(name)); len(asks) > 0 {
		o.SetAnnotations(map[string]string{"metallb.io/loadBalancerIPs": strings.Join(asks, ",")})
	}
	var ingress []any
	for _, a := range has {
		ingress = append(ingress, map[string]any{"ip": a})
	}
	o.Object["status"] = map[string]any{"loadBalancer": map[string]any{"ingress": ingress}}
	return o
}

// A Service is waited for until it has all its addresses, in pool mode any, which are returned. What had them when it was read is waited
// for only if the run has changed anything.
func TestGranted(t *testing.T) {
	const one, two = "192.0.2.1", "2001:db8::1"
	both := []string{one, two}
	for name, tt := range map[string]struct {
		mode                string
		asks, had, has      []string
		changed             bool
		chosen, told, lacks string
	}{
		"two lack them":                    {config.ModeDedicated, both, nil, nil, true, "", "", "a to be granted an address|b to be granted " + one + ", " + two},
		"it has them":                      {config.ModeDedicated, both, nil, both, true, "", one + ", " + two, ""},
		"it had them":                      {config.ModeDedicated, both, both, nil, false, "", "", ""},
		"it had them before the change":    {config.ModeDedicated, both, both, nil, true, "", "", "b to be granted " + one + ", " + two},
		"nothing was changed, it has them": {config.ModeDedicated, both, nil, both, false, "", "", ""},
		"one is missing":                   {config.ModeDedicated, both, nil, []string{one}, true, "", "", "b to be granted " + one + ", " + two},
		"any address of a pool":            {config.ModePool, nil, nil, []string{one}, true, one, one, ""},
		"it had an address of a pool":      {config.ModePool, nil, []string{one}, nil, false, one, "", ""},
		"no address of a pool":             {config.ModePool, nil, nil, nil, true, "", "", "b to be granted an address"},
	} {
		all := []*unstructured.Unstructured{service("b", tt.asks, tt.has), service("a", nil, []string{"192.0.2.9"})}
		if name == "two lack them" {
			all[1] = service("a", nil, nil)
		}
		c, err := cluster.OfObjects(all)
		if err != nil {
			t.Fatal(err)
		}
		cfg, told := config.Default(), ""
		cfg.IP.Mode = tt.mode
		x := executor.New(command.New(c, command.Options{Config: cfg, Report: func(e report.Event) {
			if e.Action == report.Granted && e.Name == "b" {
				told += e.Message
			}
		}}), state.Request{Lease: ot.Shop})
		x.Snapshot = ot.Snapshot(nil, service("b", tt.asks, tt.had))
		if tt.changed {
			x.Event(report.Created, "service", "ns", "b", "")
		}
		var desired []render.Object
		for _, name := range []string{"b", "a"} {
			if name == "b" || tt.mode == config.ModeDedicated {
				desired = append(desired, cluster.Applicable(kinds.Service, service(name, map[string][]string{"b": tt.asks}[name], nil)))
			}
		}
		chosen, err := (&Lease{X: x, Desired: desired}).Granted(t.Context())
		lacks := ""
		if late, ok := errors.AsType[*report.TimeoutError](err); ok {
			err = nil
			for _, text := range late.Waiting {
				text, _, _ = strings.Cut(text, " by MetalLB")
				lacks += "|" + strings.TrimPrefix(text, "service "+ot.Shop.Namespace()+"/")
			}
		}
		if err != nil || strings.Join(chosen, ", ") != tt.chosen || told != tt.told || strings.TrimPrefix(lacks, "|") != tt.lacks {
			t.Errorf("%s: chosen %q, told %q, lacks %q, %v", name, chosen, told, lacks, err)
		}
	}
}

// A record is waited for until its controller has published it. One that is not made, or is gone, ends the wait.
func TestServed(t *testing.T) {
	record := func(state string) *unstructured.Unstructured {
		o := ot.Object(kinds.DNSRecord, ot.Shop, "a", map[string]any{"name": shop, "recordType": "A", "values": []any{"192.0.2.1"}})
		o.Object["status"] = map[string]any{"observedGeneration": int64(0), "lastOperation": map[string]any{"state": state, "description": "no zone"}}
		return o
	}
	for name, tt := range map[string]struct {
		had, has string
		changed  bool
		told     string
		err      string
	}{
		"it is published":             {"Processing", "Succeeded", true, "A 192.0.2.1", "<nil>"},
		"nothing was changed":         {"Processing", "Succeeded", false, "", "<nil>"},
		"it was":                      {"Succeeded", "Failed", false, "", "<nil>"},
		"it was, before the change":   {"Succeeded", "Processing", true, "", "to be served"},
		"its controller cannot do it": {"Processing", "Failed", true, "", "was not made (Failed): no zone"},
		"somebody has deleted it":     {"Succeeded", "", true, "", "was deleted by somebody else"},
	} {
		var all []*unstructured.Unstructured
		if tt.has != "" {
			all = append(all, record(tt.has))
		}
		c, err := cluster.OfObjects(all)
		if err != nil {
			t.Fatal(err)
		}
		told := ""
		x := executor.New(command.New(c, command.Options{Config: config.Default(), Report: func(e report.Event) {
			if e.Action == report.Served {
				told += e.Message
			}
		}}), state.Request{Lease: ot.Shop})
		x.Snapshot = ot.Snapshot(nil, record(tt.had))
		if tt.changed {
			x.Event(report.Created, "dnsrecord", "ns", "a", "")
		}
		err = (&Lease{X: x, Records: []render.Object{cluster.Applicable(kinds.DNSRecord, record(""))}}).Served(t.Context())
		if got := fmt.Sprint(err); told != tt.told || !strings.Contains(got, tt.err) {
			t.Errorf("%s: told %q, %s", name, told, got)
		}
	}
}

// Of several objects that are waited for each is told once, and what lacks something in the end is named. An object that is gone, or an
// error of a controller, ends the wait.
func TestAwait(t *testing.T) {
	for name, tt := range map[string]struct {
		lacks   map[string]int // for how many looks an object lacks something
		changed bool
		fails   string
		want    string
	}{
		"they come one after the other": {map[string]int{"a": 2}, true, "", "b served, a served"},
		"nothing was changed":           {map[string]int{"a": 2}, false, "", "waits for a only"},
		"one does not come":             {map[string]int{"b": 1000}, true, "", "a served, [b]"},
		"one fails":                     {nil, true, "b", "a served, b fails"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, err := cluster.OfObjects([]*unstructured.Unstructured{service("a", nil, nil), service("b", nil, nil)})
				if err != nil {
					t.Fatal(err)
				}
				var got []string
				x := executor.New(command.New(c, command.Options{Config: config.Default(), Wait: 2 * time.Second, Report: func(e report.Event) {
					if e.Action == report.Served {
						got = append(got, e.Name+" served")
					}
				}}), state.Request{Lease: ot.Shop})
				x.Snapshot = ot.Snapshot(nil, service("a", nil, nil), service("b", nil, nil))
				if tt.changed {
					x.Event(report.Created, "service", "ns", "b", "")
				}
				what := func(waiting []render.Object) string {
					if len(waiting) == 1 {
						got = append(got, "waits for "+waiting[0].Name+" only")
					}
					return "it"
				}
				looks := map[string]int{}
				objects := []render.Object{cluster.Applicable(kinds.Service, service("a", nil, nil)), cluster.Applicable(kinds.Service, service("b", nil, nil))}
				err = (&Lease{X: x}).await(t.Context(), objects, what, func(o render.Object, live *unstructured.Unstructured) (string, report.Event, error) {
					if live == nil || o.Name == tt.fails {
						return "", report.Event{}, errors.New(o.Name + " fails")
					}
					if looks[o.Name]++; looks[o.Name] <= tt.lacks[o.Name] {
						return o.Name, report.Event{}, nil
					}
					return "", report.Event{Action: report.Served}, nil
				})
				if late, ok := errors.AsType[*report.TimeoutError](err); ok {
					got = append(got, fmt.Sprint(late.Waiting))
				} else if err != nil {
					got = append(got, err.Error())
				}
				if is := strings.Join(got, ", "); is != tt.want {
					t.Errorf("%s, want %s", is, tt.want)
				}
			})
		})
	}
}

// What an object lacks is asked once a watch tells of a change, not again and again. Who may not watch asks again and again.
func TestAwaitWatches(t *testing.T) {
	for _, kind := range []string{"MODIFIED", "DELETED", ""} {
		may := kind != ""
		var mu sync.Mutex
		asked, isGranted, looked := 0, false, make(chan struct{})
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			o := service("b", []string{"192.0.2.1"}, map[bool][]string{true: {"192.0.2.1"}}[isGranted])
			var answer any = o
			w.Header().Set("Content-Type", "application/json")
			switch {
			case r.URL.Query().Get("watch") != "" && !may:
				w.WriteHeader(http.StatusForbidden)
				answer = &metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Reason: metav1.StatusReasonForbidden, Code: http.StatusForbidden}
			case r.URL.Query().Get("watch") != "":
				mu.Unlock()
				<-looked // after the list, too, it has none
				mu.Lock()
				isGranted = true
				o = service("b", []string{"192.0.2.1"}, []string{"192.0.2.1"})
				answer = map[string]any{"type": kind, "object": o}
				defer func() {
					w.(http.Flusher).Flush()
					mu.Unlock()
					<-r.Context().Done()
					mu.Lock()
				}()
			case strings.HasSuffix(r.URL.Path, "/services"):
				answer = map[string]any{"apiVersion": "v1", "kind": "ServiceList", "metadata": map[string]any{"resourceVersion": "7"}, "items": []any{}}
			default:
				if asked++; asked == 2 {
					close(looked)
				}
				isGranted = isGranted || !may && asked == 5
			}
			_ = json.NewEncoder(w).Encode(answer)
		}))
		t.Cleanup(server.Close)
		c, err := cluster.Connect(&rest.Config{Host: server.URL}, 4)
		if err != nil {
			t.Fatal(err)
		}
		x := executor.New(command.New(c, command.Options{Config: config.Default(), Wait: 20 * time.Second, Report: func(report.Event) {}}), state.Request{Lease: ot.Shop})
		x.Snapshot = ot.Snapshot(nil)
		x.Event(report.Created, "service", "ns", "b", "")
		_, err = (&Lease{X: x, Desired: []render.Object{cluster.Applicable(kinds.Service, service("b", []string{"192.0.2.1"}, nil))}}).Granted(t.Context())
		if err != nil || may && asked != 3 || !may && asked != 6 {
			t.Errorf("by a watch that tells %q it is asked %d times, %v", kind, asked, err)
		}
	}
}

// The message of a timeout names the Service, its addresses, and who uses these.
func TestToBeGranted(t *testing.T) {
	const one, two = "192.0.2.1", "2001:db8::1"
	got := golden.Cases{}
	for name, c := range map[string]struct {
		asks      []string
		squatters map[netip.Addr][]string
	}{
		"in pool mode a Service waits for any address": {nil, nil},
		"a Service waits for two addresses":            {[]string{one, two}, nil},
		"others use the addresses":                     {[]string{one, two}, map[netip.Addr][]string{netip.MustParseAddr(one): {"x has it"}, netip.MustParseAddr(two): {"y has it"}}},
	} {
		o := service("a", c.asks, nil)
		o.SetNamespace("ns")
		got[name] = toBeGranted(cluster.Applicable(kinds.Service, o), c.squatters) + "\n"
	}
	got.Check(t, "testdata/grants.golden")
}
