package ledger_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/repair"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// What was seen to go wrong, each by its name. Other interleavings of it are among all pairs of commands.

// repairing is repair with a threshold that no run of these tests reaches.
var repairing = repair.Options{CrashedAfter: time.Hour}

// The namespaces were listed before a lease was applied, the rest after: the lease stays as it is.
func TestRepairOfALeaseThatIsNewerThanItsNamespaces(t *testing.T) {
	w := newWorld(t, "fresh", config.TargetIngress)
	defer w.reset(t)
	w.reset(t)
	solo := &tearer{}
	_ = repair.Repair(t.Context(), w.client(t, w.cfg, solo.through).applier(), repairing)
	i := slices.IndexFunc(solo.lists, func(list string) bool { return strings.HasPrefix(list, "/api/v1/namespaces?") })
	if i < 0 {
		t.Fatalf("repair does not list namespaces: %q", solo.lists)
	}
	for dseq := range uint64(3) {
		early := w.record(t, solo.lists[i:i+1])
		if err := w.client(t, w.cfg).apply(t.Context(), definition(w.lease("a", dseq+1), "", fmt.Sprintf("n%d.%s", dseq, w.host()))); err != nil {
			t.Fatal(err)
		}
		before := w.view(t).text(t)
		err := repair.Repair(t.Context(), w.client(t, w.cfg, (&tearer{answers: early}).through).applier(), repairing)
		if after := w.view(t).text(t); !slices.Equal(before, after) {
			t.Errorf("repair of a fresh lease (%v) leaves %q of %q", err, after, before)
		}
	}
}

// A run has made its objects and stands still before it ends. A transfer takes it for crashed and hands the host on,
// and the ProviderHost keeps its UID. The run finds that it was taken for crashed, and what is another lease's by then
// stays.
func TestOvertakenRunLeavesWhatWasTransferred(t *testing.T) {
	w := newWorld(t, "handed", config.TargetIngress)
	defer w.reset(t)
	w.reset(t)
	var moved view
	late := w.client(t, w.cfg, beforeEnd(func() {
		to := w.lease("a", 2)
		if err := w.client(t, w.cfg).hasty().applier().Transfer(t.Context(), to, []string{w.host()}, definition(to, "", w.host())); err != nil {
			t.Error(err)
		}
		moved = w.view(t)
	}))
	err := late.apply(t.Context(), definition(w.lease("a", 1), "", w.host()))
	wantLost(t, err)
	after := w.view(t)
	for _, o := range moved.things {
		if o.group != w.lease("a", 2).Group() {
			continue
		}
		if !slices.ContainsFunc(after.things, func(is thing) bool { return is.live.GetUID() == o.live.GetUID() && is.group == o.group }) {
			t.Errorf("%s of the new holder is gone (%v)", o, err)
		}
	}
	for _, c := range after.claims {
		for _, p := range c.Parts {
			if missing := after.serves(c, p); len(missing) > 0 || p.Lease.DSeq != 2 {
				t.Errorf("%s is held by %s and has no %v", c.Thing, p.Lease, missing)
			}
		}
	}
	if len(after.claims) != 1 {
		t.Errorf("there are %d claims", len(after.claims))
	}
	if problems := w.problems(t.Context(), t); len(problems) > 0 {
		t.Errorf("problems: %q", problems)
	}
}

// beforeEnd does something before a command takes its announcement back.
func beforeEnd(do func()) func(*rest.Config) {
	var once sync.Once
	return func(connection *rest.Config) {
		connection.Wrap(func(next http.RoundTripper) http.RoundTripper {
			return roundTripper(func(r *http.Request) (*http.Response, error) {
				if r.Method == http.MethodDelete && strings.Contains(r.URL.Path, "/leases/"+state.AnnouncementName("")) {
					once.Do(do)
				}
				return next.RoundTrip(r)
			})
		})
	}
}

// A lease is reserved, and a pipeline delivers what stands for it; its namespace is yet to come. It is not
// gone, and nothing is given up.
func TestNamespaceThatIsYetToCome(t *testing.T) {
	w := newWorld(t, "tocome", config.TargetIngress)
	defer w.reset(t)
	w.reset(t)
	id := w.lease("a", 1)
	def := definition(id, "", w.host())
	c := w.client(t, w.cfg)
	if err := c.reserve(t.Context(), id, "", w.host()); err != nil {
		t.Fatal(err)
	}
	check := func(when string) {
		t.Helper()
		before := w.view(t).text(t)
		for _, p := range w.problems(t.Context(), t) {
			if strings.HasPrefix(p, "NamespaceGone") {
				t.Errorf("%s: %s", when, p)
			}
		}
		err := repair.Repair(t.Context(), w.client(t, w.cfg).applier(), repairing)
		if after := w.view(t).text(t); !slices.Equal(before, after) {
			t.Errorf("%s repair (%v) leaves %q of %q", when, err, after, before)
		}
	}
	check("when it is reserved")
	rendered, err := render.Lease(def, w.cfg, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range rendered {
		if o.Kind != kinds.ProviderHost { // it is in Akash's namespace
			continue
		}
		if _, err := harness.Objects.Resource(o.Kind.Resource()).Namespace(o.Namespace).Apply(t.Context(), o.Name, cluster.Rendered(o), metav1.ApplyOptions{FieldManager: "pipeline"}); err != nil {
			t.Fatal(err)
		}
	}
	check("when its ProviderHost is delivered")
	if err := harness.Objects.Resource(leases).Namespace(w.ledger).Delete(t.Context(), w.host(), metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := repair.Repair(t.Context(), c.applier(), repairing); err != nil {
		t.Fatal(err)
	}
	check("when it is claimed because its ProviderHost is there")
	if err := c.apply(t.Context(), def); err != nil {
		t.Error(err)
	}
}
