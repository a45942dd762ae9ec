package reconcile_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/view"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

var ingresses = kinds.Ingress.Resource()

const readTimeout = "nginx.ingress.kubernetes.io/proxy-read-timeout"

// Leases follow their files: a new one, one that changes, and one that is removed. What is deleted by hand comes back, a field of ours
// goes back to what it was, and somebody else's stays.
func TestWatch(t *testing.T) {
	t.Parallel()
	dir, owner := newFolder(t), harness.NewOwner(t)
	first, second := harness.LeaseOf(owner, 1), harness.LeaseOf(owner, 2)
	one, two := harness.NewHost("one"), harness.NewHost("two")
	dir.define(t, first, one)
	w := watch(t, "-f", dir.path, "--source", "watched", "--leader-elect=false")
	routed(t, first, one, true)

	dir.define(t, second, two)
	routed(t, second, two, true)

	harness.Remove(t, ingresses, first.Namespace(), one)
	routed(t, first, one, true)
	harness.Remove(t, kinds.ProviderHost.Resource(), "lease", one)
	harness.Eventually(t, "the ProviderHost is to be back", func(context.Context) (bool, error) {
		return harness.Find(t, kinds.ProviderHost.Resource(), "lease", one) != nil, nil
	})

	harness.Edit(t, "kubectl-edit", ingresses, first.Namespace(), one, func(o *unstructured.Unstructured) {
		a := o.GetAnnotations()
		a[readTimeout], a["example.com/note"] = "7", "mine"
		o.SetAnnotations(a)
	})
	harness.Eventually(t, "the timeout is to be what it was", func(context.Context) (bool, error) {
		return route(t, first, one).GetAnnotations()[readTimeout] == "60", nil
	})
	if route(t, first, one).GetAnnotations()["example.com/note"] != "mine" {
		t.Error("the note of somebody else is gone")
	}

	dir.define(t, first, one, "http: {readTimeout: 30s}")
	harness.Eventually(t, "the timeout is to be that of the file", func(context.Context) (bool, error) {
		return route(t, first, one).GetAnnotations()[readTimeout] == "30", nil
	})

	dir.remove(t, second)
	routed(t, second, two, false)
	released(t, second)
	dir.remove(t, first)
	w.Says(t, "has no .json, .yaml, .yml files")
	w.Stops(t)
	routed(t, first, one, true)
}

// A lease that fails holds up no other, and gets its host as soon as the other lease that holds it is gone.
func TestWatchTriesAgain(t *testing.T) {
	dir, owner, other := newFolder(t), harness.NewOwner(t), harness.LeaseOf(harness.NewOwner(t), 1)
	held, good := harness.LeaseOf(owner, 1), harness.LeaseOf(owner, 2)
	theirs, ours := harness.NewHost("theirs"), harness.NewHost("ours")
	harness.Run(t.Context(), "reserve", theirs, "--lease", other.String()).Exits(t, 0)
	dir.define(t, held, theirs)
	w := watch(t, "-f", dir.path, "--leader-elect=false")
	w.Says(t, theirs+" is held by lease "+other.String())
	dir.define(t, good, ours)
	routed(t, good, ours, true)
	name, next := state.LeaseFails+"/"+held.String(), "; the reconciler tries again by itself, at 20"
	showsProblem(t, name, true, theirs+" is held by lease "+other.String(), next)
	harness.Run(t.Context(), "repair", name).Exits(t, 1).Prints(t, name+" skipped")
	harness.Run(t.Context(), "release", other.Group().String()).Exits(t, 0)
	routed(t, held, theirs, true)
	showsProblem(t, name, false)
	w.Stops(t)
}

// showsProblem waits until state --problems shows a problem with texts, or does not show it.
func showsProblem(t *testing.T, problem string, want bool, texts ...string) {
	t.Helper()
	kind, thing, _ := strings.Cut(problem, "/")
	harness.Eventually(t, fmt.Sprintf("whether %s is shown is to be %t", problem, want), func(ctx context.Context) (bool, error) {
		var book view.Book
		r := harness.Run(ctx, "state", "--problems", "-o", "json")
		if err := json.Unmarshal([]byte(r.Stdout), &book); err != nil {
			return false, fmt.Errorf("%w: %s", err, r)
		}
		i := slices.IndexFunc(book.Problems, func(p state.Problem) bool { return p.Problem == kind && p.Thing == thing })
		if i < 0 || !want {
			return (i >= 0) == want, nil
		}
		for _, text := range texts {
			if one := book.Problems[i]; !strings.Contains(one.Message+one.Plan, text) {
				return false, nil
			}
		}
		return true, nil
	})
}

// The announcement of a killed command goes though its lease is as it is to be; until then the reconciler says for whom it waits. What it
// does for ever is told as it does it, the same error once.
func TestWatchTells(t *testing.T) {
	t.Parallel()
	dir, id, held := newFolder(t), harness.LeaseOf(harness.NewOwner(t), 1), harness.LeaseOf(harness.NewOwner(t), 2)
	host, theirs := harness.NewHost("told"), harness.NewHost("theirs")
	dir.define(t, id, host)
	dir.define(t, held, theirs)
	harness.RunAs(t.Context(), reconciler, "reconcile", "-f", dir.path).Exits(t, 0)
	dir.define(t, held, host)
	story := harness.Launch(t, harness.Command(context.WithoutCancel(t.Context()), harness.Plane.Kubeconfig, "events", host, "--watch"))
	story.Says(t, "Claimed")
	w := watch(t, "-f", dir.path, "--resync", "1s", "--leader-elect=false")
	story.Says(t, "host "+host+" is held by lease "+id.String())
	told := strings.Count(story.String(), "ingress/"+host)
	harness.Remove(t, ingresses, id.Namespace(), host)
	routed(t, id, host, true)
	harness.Eventually(t, "the new route is to be told of", func(context.Context) (bool, error) {
		return strings.Count(story.String(), "ingress/"+host) > told, nil
	})
	if refused := strings.Count(story.String(), "is held by lease"); refused != 1 {
		t.Errorf("%d refusals are told:\n%s", refused, story)
	}

	then := harness.ServerTime(t).Add(-time.Minute)
	killed := state.Announcement{
		Nonce: "0killed000000", Groups: []lease.Group{id.Group()}, By: "ann@laptop", Version: "v1",
		Begun: then, Renewed: then, Lasts: time.Second, Phase: state.Active,
	}
	body, err := json.Marshal(killed.Configuration("akash-net"))
	if err == nil {
		_, err = harness.Objects.Resource(cluster.Leases).Namespace("akash-net").Patch(t.Context(), killed.Name(), types.ApplyPatchType, body, metav1.PatchOptions{FieldManager: lease.FieldManager})
	}
	if err != nil {
		t.Fatal(err)
	}
	w.Says(t, "another command is at work on it: run "+killed.Nonce+" of ann@laptop")
	harness.Eventually(t, "the announcement is to be gone", func(context.Context) (bool, error) {
		return harness.Find(t, cluster.Leases, "akash-net", killed.Name()) == nil, nil
	})
	routed(t, id, host, true)
	w.Stops(t)
}

// A change costs no LIST but those of the ledger: everything else is watched. What is as it is to be costs nothing.
func TestWhatAChangeCosts(t *testing.T) { // alone: what other tests do would count
	dir, id, host := newFolder(t), harness.LeaseOf(harness.NewOwner(t), 1), harness.NewHost("cost")
	dir.define(t, id, host)
	var mu sync.Mutex
	var sent []string
	server := harness.Proxy(t, rights(t), func(p *httputil.ReverseProxy) {
		direct := p.Rewrite
		p.Rewrite = func(r *httputil.ProxyRequest) {
			mu.Lock()
			if !r.In.URL.Query().Has("watch") && !strings.Contains(r.In.URL.Path, "/leases/el--") {
				sent = append(sent, r.In.Method+" "+r.In.URL.Path)
			}
			mu.Unlock()
			direct(r)
		}
	})
	w := watchAs(t, harness.Kubeconfig(t, server), "-f", dir.path)
	routed(t, id, host, true)
	w.Says(t, "is applied: 1 host")
	mu.Lock()
	sent = nil
	mu.Unlock()
	dir.define(t, id, host, "http: {readTimeout: 30s}")
	harness.Eventually(t, "the timeout is to be that of the file", func(context.Context) (bool, error) {
		return route(t, id, host).GetAnnotations()[readTimeout] == "30", nil
	})
	w.Stops(t)
	mu.Lock()
	defer mu.Unlock()
	for _, request := range sent {
		if strings.HasPrefix(request, "GET ") && !strings.Contains(request, "/namespaces/akash-net/leases") {
			t.Errorf("it has sent %s", request)
		}
	}
	if len(sent) > 12 {
		t.Errorf("it has sent %d requests:\n%s", len(sent), strings.Join(sent, "\n"))
	}
	t.Log(strings.Join(sent, "\n"))
}

// A reconciler that is stopped while it begins ends as one that has begun.
func TestStoppedAtTheBeginning(t *testing.T) {
	t.Parallel()
	asked, hangs := make(chan struct{}, 100), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		asked <- struct{}{}
		<-hangs
	}))
	t.Cleanup(server.Close)
	t.Cleanup(func() { close(hangs) })
	w := watchAs(t, harness.Kubeconfig(t, server.URL), "--heal")
	<-asked
	w.Stops(t)
}

// One of several works, and the others say for which one they stand by. When it is killed in the middle of its work, another one goes on,
// and those that still wait say so.
func TestTwoWatch(t *testing.T) {
	dir, owner := newFolder(t), harness.NewOwner(t)
	first, second := harness.LeaseOf(owner, 1), harness.LeaseOf(owner, 2)
	one, two := harness.NewHost("one"), harness.NewHost("two")
	dir.define(t, first, one)
	a := watch(t, "-f", dir.path, "--source", "two")
	routed(t, first, one, true)
	was := elected(t)
	a.Says(t, "reconciler "+was+" is elected; it is this one\n")
	waiting := []*harness.Process{watch(t, "-f", dir.path, "--source", "two"), watch(t, "-f", dir.path, "--source", "two")}
	for _, w := range waiting {
		w.Says(t, "reconciler "+was+" is elected; this one stands by\n")
	}
	// One with other sources is elected for itself, and works.
	elsewhere, third, three := newFolder(t), harness.LeaseOf(owner, 3), harness.NewHost("three")
	elsewhere.define(t, third, three)
	watch(t, "-f", elsewhere.path, "--source", "three").Says(t, " is elected; it is this one\n")
	routed(t, third, three, true)
	a.Kill()
	harness.Merge(t, cluster.Leases, "akash-net", state.ElectionName([]string{"files/two"}), `{"spec":{"leaseDurationSeconds":1}}`) // the others need not wait longer
	dir.define(t, second, two)
	routed(t, second, two, true)
	dir.remove(t, first)
	routed(t, first, one, false)

	is, ends := elected(t), map[string]int{}
	for _, w := range waiting {
		w.Says(t, "reconciler "+is+" is elected; ")
		text := w.String()
		for _, end := range []string{"; this one stands by", "; it is this one"} {
			ends[end] += strings.Count(text, end)
		}
	}
	if ends["; it is this one"] != 1 || ends["; this one stands by"] != 3 {
		t.Errorf("of two that waited one is elected, and each says once for whom it stands by, not %v", ends)
	}
	harness.Eventually(t, "an Event is to tell who is elected", func(context.Context) (bool, error) {
		return slices.ContainsFunc(harness.List(t, eventsv1.SchemeGroupVersion.WithResource("events"), ""), func(o unstructured.Unstructured) bool {
			note, _, _ := unstructured.NestedString(o.Object, "note")
			return o.GetNamespace() == "akash-net" && note == is+" became leader"
		}), nil
	})
}

// A reconciler that is started anew counts what its predecessor has released.
func TestReleasesAreCountedAcrossKills(t *testing.T) {
	t.Parallel()
	dir, owner := newFolder(t), harness.NewOwner(t)
	for n := range 3 {
		dir.define(t, harness.LeaseOf(owner, uint64(n+1)), harness.NewHost("counted"))
	}
	first, second := harness.LeaseOf(owner, 1), harness.LeaseOf(owner, 2)
	harness.RunAs(t.Context(), reconciler, "reconcile", "-f", dir.path, "--source", "counted").Exits(t, 0)
	w := watch(t, "-f", dir.path, "--source", "counted", "--leader-elect=false")
	dir.remove(t, first)
	released(t, first)
	w.Kill()
	dir.remove(t, second)
	watch(t, "-f", dir.path, "--source", "counted", "--leader-elect=false").Says(t, "no longer names 2 leases of 3, and at most 1 may be released within 10m, and 1 were")
}

// elected returns the name of the reconciler that is elected.
func elected(t *testing.T) string {
	t.Helper()
	holder, _, err := unstructured.NestedString(harness.Need(t, cluster.Leases, "akash-net", state.ElectionName([]string{"files/two"})).Object, "spec", "holderIdentity")
	if err != nil {
		t.Fatal(err)
	}
	return holder
}

// Routes that all go at once all come back, whatever the reconciler does meanwhile for some of them.
func TestRoutesThatGoAtOnce(t *testing.T) {
	t.Parallel()
	const all = 100
	dir, owner, hosts := newFolder(t), harness.NewOwner(t), map[lease.ID]string{}
	for n := range uint64(all) {
		id := harness.LeaseOf(owner, n+1)
		hosts[id] = harness.NewHost("many")
		dir.define(t, id, hosts[id])
	}
	w := watch(t, "-f", dir.path, "--source", "many", "--leader-elect=false")
	for id, host := range hosts {
		routed(t, id, host, true)
	}
	var deletes sync.WaitGroup
	gone := map[string]types.UID{}
	for id, host := range hosts {
		gone[host] = route(t, id, host).GetUID()
		deletes.Go(func() { harness.Remove(t, kinds.Ingress.Resource(), id.Namespace(), host) })
	}
	deletes.Wait()
	for id, host := range hosts {
		harness.Eventually(t, host+" is routed again", func(context.Context) (bool, error) {
			now := route(t, id, host)
			return now != nil && now.GetUID() != gone[host], nil
		})
	}
	w.Stops(t)
}
