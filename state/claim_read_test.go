package state_test

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
)

// What the guard refuses to be written is not believed where it was written without the guard: two
// readers could understand it in two ways.
func TestPartsAreReadStrictly(t *testing.T) {
	id := lease.ID{Owner: "akash1abc", DSeq: 1, GSeq: 1, OSeq: 1, Provider: "akash1xyz"}
	for value, want := range map[string]string{
		`{"lease":"` + id.String() + `","run":"a"}`:                           "",
		`{"lease":"` + id.String() + `"} `:                                    "",
		`{"lease":"` + id.String() + `","run":"a","run":"b"}`:                 `duplicate field "run"`,
		`{"lease":"akash1abc/2/1/1/akash1xyz","lease":"` + id.String() + `"}`: `duplicate field "lease"`,
		`{"Lease":"` + id.String() + `"}`:                                     "annotation",
		`{"lease":"` + id.String() + `"}x`:                                    "is not JSON",
		`{"lease":"` + id.String() + `"}{}`:                                   "is not JSON",
		`{"lease":"` + id.String() + `","port":65536}`:                        "is not JSON",
	} {
		claim, _ := state.ReadClaim(&metav1.ObjectMeta{
			Name: "a.example", Labels: map[string]string{state.LabelKind: string(state.Host), state.LabelOwner: id.Owner},
			Annotations: map[string]string{state.AnnotationLedger: "v1", state.RouteKey("/"): value},
		})
		if (claim.Unreadable == "") != (want == "") || !strings.Contains(claim.Unreadable, want) {
			t.Errorf("%s: %q, want %q", value, claim.Unreadable, want)
		}
	}
}
