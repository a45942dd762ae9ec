package repair

import (
	"testing"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
)

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
