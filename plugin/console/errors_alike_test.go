package console

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/report"
)

// What the cluster refuses for every lease is said once, with how many they are; what is different, and what is of a lease
// alone, is said of each.
func TestOneErrorForManyLeases(t *testing.T) {
	missing := func() error {
		return &cluster.MissingKindError{Resource: schema.GroupVersionResource{Group: "route.openshift.io", Version: "v1", Resource: "routes"}}
	}
	forbidden := func(name string) error {
		return fmt.Errorf("not allowed to patch it: %w", apierrors.NewForbidden(cluster.Leases.GroupResource(), name, errors.New("you may not")))
	}
	failures := report.Failures{}
	for dseq := range uint64(300) {
		failures = append(failures, ofLease(dseq+1, missing()))
	}
	failures = append(failures, ofLease(1, missing())) // the next step of that lease
	failures = append(failures, ofLease(1, forbidden("a")), ofLease(2, forbidden("a")), ofLease(3, forbidden("b")), ofLease(4, errors.New("taken")), ofLease(5, errors.New("taken")))
	failures = append(failures, ofLease(6, &report.HalfError{Lease: lease.ID{Owner: "akash1owner", DSeq: 6, GSeq: 1}, Why: missing(), Left: errors.New("stays")}))

	var out bytes.Buffer
	c := &Console{IOStreams: genericiooptions.IOStreams{ErrOut: &out}, running: true, Leases: 300}
	if code := c.End(t.Context(), failures); code != exitFailed {
		t.Errorf("exit code %d", code)
	}
	for text, want := range map[string]int{
		"does not serve routes.route.openshift.io": 2, // one is of the lease that could not give back what it took
		"/1/1 and 299 more leases: this cluster":   1,
		"you may not":                              2,
		"/1/1 and 1 more lease: not allowed":       1,
		"/3/1: not allowed":                        1,
		": taken":                                  2,
	} {
		if got := strings.Count(out.String(), text); got != want {
			t.Errorf("%q %d times, want %d, in\n%s", text, got, want, out.String())
		}
	}
}
