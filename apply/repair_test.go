package .
import "github.com/akash-net/kubectl-akash-net/state"
import "fmt"
import "testing"
import "github.com/google/go-cmp/cmp"
import "github.com/akash-net/kubectl-akash-net/lease"

// What repair says of a problem names the lease, or as much of it as the problem does.
func TestLeaseOfAProblem(t *testing.T) {
	id := someLease(someOwner, 7)
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
