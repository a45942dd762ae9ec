package ledger

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/reserved"
)

const (
	owner = "akash1h24fljt7p0nh82cq0za0uhsct3sfwsfu9w3c9h"
	shop  = "shop.example.com"
)

// leaseOf is a lease of the owner.
func leaseOf(dseq uint64) lease.ID {
	return lease.ID{Owner: owner, DSeq: dseq, GSeq: 1, OSeq: 1, Provider: "akash1nxq8gmsw2vlz3m68qvyvcf3kh6q269ajvqw6y0"}
}

// part is the part of a lease for a path.
func part(dseq uint64, path string) state.Part {
	return state.Part{Key: state.RouteKey(path), Lease: leaseOf(dseq), Path: path}
}

// note is a note that a path is withheld from a lease.
func note(dseq uint64, path string) state.Part {
	return part(dseq, path).Wait("hash", nil)
}

// empty is the ledger of a cluster in memory.
func empty(t *testing.T) Ledger {
	t.Helper()
	c, err := cluster.OfObjects(nil)
	if err != nil {
		t.Fatal(err)
	}
	return New(c.DryRun(cluster.DryRunClient), "akash-net")
}

// put makes a lease hold parts of the claim on the shop's host.
func put(t *testing.T, l Ledger, claim *state.Claim, dseq uint64, parts ...state.Part) *state.Claim {
	t.Helper()
	if claim == nil {
		claim = &state.Claim{Kind: state.Host, Thing: shop, Owner: owner}
	}
	now, err := l.Put(t.Context(), claim, leaseOf(dseq).Group(), parts)
	if err != nil {
		t.Fatal(err)
	}
	return now
}

// keys are the keys of the claim's parts and notes; nil is for no claim.
func keys(c *state.Claim) (out []string) {
	if c == nil {
		return nil
	}
	for _, p := range slices.Concat(c.Parts, c.Waits) {
		out = append(out, p.Key)
	}
	slices.Sort(out)
	return out
}

func keysOf(parts ...state.Part) []string { return keys(&state.Claim{Parts: parts}) }

// A claim is created only if there is none, and every later write is pinned to what was read.
func TestPutIsPinned(t *testing.T) {
	l := empty(t)
	first := put(t, l, nil, 1, part(1, "/"))
	if _, err := l.Put(t.Context(), &state.Claim{Kind: state.Host, Thing: shop, Owner: owner}, leaseOf(2).Group(), []state.Part{part(2, "/a")}); !errors.Is(err, ErrAgain) {
		t.Errorf("a claim that exists was created: %v", err)
	}
	second := put(t, l, first, 1, part(1, "/"), part(1, "/a"))
	if _, err := l.Put(t.Context(), first, leaseOf(1).Group(), []state.Part{part(1, "/b")}); !errors.Is(err, ErrAgain) {
		t.Errorf("a claim that has changed was written: %v", err)
	}
	if now, err := l.Withdraw(t.Context(), first, leaseOf(1).Group()); !errors.Is(err, ErrAgain) {
		t.Errorf("a claim that has changed was given up: %v, %v", now, err)
	}
	if err := l.Objects.Delete(t.Context(), first.Name(), first.UID, first.ResourceVersion); !errors.Is(err, ErrAgain) {
		t.Errorf("a claim that has changed was deleted: %v", err)
	}
	if got, want := keys(second), keysOf(part(1, "/"), part(1, "/a")); !slices.Equal(got, want) {
		t.Errorf("it has %q, want %q", got, want)
	}
	if now, err := l.Seize(t.Context(), first, leaseOf(2).Group(), []state.Part{part(2, "/")}); !errors.Is(err, ErrAgain) {
		t.Errorf("a claim that has changed was taken: %v, %v", now, err)
	}
	if now, err := l.Seize(t.Context(), second, leaseOf(2).Group(), []state.Part{part(2, "/")}); err != nil || now == nil || now.Part(state.RouteKey("/")).Lease != leaseOf(2) {
		t.Errorf("%v, %v", now, err)
	}
}

// A group that withdraws gives up its parts and its notes, and nothing of others.
func TestWithdraw(t *testing.T) {
	for name, own := range map[string][]state.Part{
		"a part": {part(1, "/")}, "a note": {note(1, "/b")}, "a part and a note": {part(1, "/"), note(1, "/b")},
	} {
		l := empty(t)
		claim := put(t, l, put(t, l, nil, 2, part(2, "/b")), 1, own...)
		now, err := l.Withdraw(t.Context(), claim, leaseOf(1).Group())
		if want := keysOf(part(2, "/b")); err != nil || !slices.Equal(keys(now), want) {
			t.Errorf("%s: it leaves %q, %v; want %q", name, keys(now), err, want)
		}
		if stored, err := l.Get(t.Context(), claim.Name()); err != nil || !slices.Equal(keys(stored), keys(now)) {
			t.Errorf("%s: stored are %q, %v", name, keys(stored), err)
		}
	}
}

// restored is a ledger of the same objects after a restore from a backup: nobody manages their fields.
func restored(t *testing.T, l Ledger) Ledger {
	t.Helper()
	list, err := l.Objects.cluster.Dynamic.Resource(cluster.Leases).Namespace(l.Objects.Namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var objects []*unstructured.Unstructured
	for i := range list.Items {
		o := list.Items[i].DeepCopy()
		o.SetManagedFields(nil)
		objects = append(objects, o)
	}
	c, err := cluster.OfObjects(objects)
	if err != nil {
		t.Fatal(err)
	}
	return New(c.DryRun(cluster.DryRunClient), l.Objects.Namespace)
}

// A reservation that is no longer pending loses the annotation that says so, and a claim the part that is given up, also
// after a restore from a backup, when their managers own neither.
func TestWritesRemoveWhatNobodyManages(t *testing.T) {
	l := empty(t)
	order := leaseOf(1).Order()
	whole := &reserved.Part{Asked: "a", Run: "r", By: "me"}
	if _, err := l.PutReservation(t.Context(), &reserved.Claim{Order: order, Bound: whole, Pending: whole}); err != nil {
		t.Fatal(err)
	}
	put(t, l, nil, 1, part(1, "/"), part(1, "/a"))

	l = restored(t, l)
	claim, err := l.Reservation(t.Context(), order)
	if err != nil || claim == nil || claim.Pending == nil {
		t.Fatalf("%+v, %v", claim, err)
	}
	without := *claim
	without.Pending = nil
	if claim, err = l.PutReservation(t.Context(), &without); err != nil || claim.Bound == nil || claim.Pending != nil {
		t.Errorf("%+v, %v", claim, err)
	}
	host, err := l.Get(t.Context(), state.HostName(shop))
	if err != nil {
		t.Fatal(err)
	}
	if now := put(t, l, host, 1, part(1, "/a")); !slices.Equal(keys(now), keysOf(part(1, "/a"))) {
		t.Errorf("the claim has %q", keys(now))
	}
}

// A conflict counts as one with others only if no deployment group is among them.
func TestOwnedByOthers(t *testing.T) {
	conflict := func(managers ...string) error {
		var causes []metav1.StatusCause
		for _, m := range managers {
			causes = append(causes, metav1.StatusCause{Type: metav1.CauseTypeFieldManagerConflict, Message: `conflict with "` + m + `"`})
		}
		return &apierrors.StatusError{ErrStatus: metav1.Status{Code: 409, Reason: metav1.StatusReasonConflict, Details: &metav1.StatusDetails{Causes: causes}}}
	}
	for name, tt := range map[string]struct {
		err  error
		want bool
	}{
		"no error":                       {nil, false},
		"a stale version":                {conflict(), false},
		"kubectl":                        {conflict("kubectl-edit"), true},
		"a deployment group":             {conflict(leaseOf(2).Group().FieldManager()), false},
		"kubectl and a deployment group": {conflict("kubectl-edit", leaseOf(2).Group().FieldManager()), false},
		"the program's own objects":      {conflict(lease.FieldManager), true},
	} {
		if got := ownedByOthers(tt.err); got != tt.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// What fails with ErrAgain is tried again until it succeeds or fails otherwise; the last error is returned.
func TestUntil(t *testing.T) {
	l := empty(t)
	l.Objects.cluster.Retries.Steps, l.Objects.cluster.Retries.Duration = 3, time.Microsecond
	other := errors.New("other")
	for name, tt := range map[string]struct {
		errs  []error
		want  error
		tries int
	}{
		"at once":         {[]error{nil}, nil, 1},
		"the second time": {[]error{ErrAgain, nil}, nil, 2},
		"another error":   {[]error{ErrAgain, other, nil}, other, 2},
		"never":           {[]error{ErrAgain, ErrAgain, ErrAgain}, ErrAgain, 3},
	} {
		tries := 0
		err := l.Objects.Until(t.Context(), func(context.Context) error {
			tries++
			return tt.errs[tries-1]
		})
		if !errors.Is(err, tt.want) || tries != tt.tries {
			t.Errorf("%s: %v after %d tries", name, err, tries)
		}
	}
}

// A ledger is lost if its namespace does not exist and a lease was applied; what Akash's provider alone has written is there before install.
func TestLost(t *testing.T) {
	object := func(kind, metadata string) *unstructured.Unstructured {
		o := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte("{apiVersion: "+kind+", metadata: "+metadata+"}"), &o.Object); err != nil {
			t.Fatal(err)
		}
		return o
	}
	const labels = "labels: {akash.network/lease.id.owner: " + owner + "}"
	theirs := object("networking.k8s.io/v1, kind: Ingress", "{name: a, namespace: ns, "+labels+"}")
	ours := object("networking.k8s.io/v1, kind: Ingress", "{name: b, namespace: ns, "+labels+", annotations: {net.akash.network/definition: x}}")
	declared := object("akash.network/v2beta2, kind: ProviderHost", "{name: c, namespace: lease, "+labels+", annotations: {net.akash.network/definition: x}}")
	there := object("v1, kind: Namespace", "{name: akash-net}")
	for _, tt := range []struct {
		name    string
		objects []*unstructured.Unstructured
		want    string
	}{
		{"nothing was installed", nil, ""},
		{"only Akash's provider has written", []*unstructured.Unstructured{theirs}, ""},
		{"it is there", []*unstructured.Unstructured{there, ours}, ""},
		{"it is lost", []*unstructured.Unstructured{theirs, ours}, "ingress ns/b"},
		{"it is lost, beside Akash's operators", []*unstructured.Unstructured{theirs, declared}, "providerhost lease/c"},
	} {
		c, err := cluster.OfObjects(tt.objects)
		if err != nil {
			t.Fatal(err)
		}
		lost := New(c, "akash-net").Lost(t.Context())
		switch {
		case (lost == nil) != (tt.want == ""):
			t.Errorf("%s: %v", tt.name, lost)
		case lost != nil && (lost.Object != tt.want || !strings.Contains(lost.Error(), "docs/backup.md")):
			t.Errorf("%s: %v", tt.name, lost)
		}
	}
}
