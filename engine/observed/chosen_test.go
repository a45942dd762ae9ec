package observed_test

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	ot "github.com/akash-net/kubectl-akash-net/engine/observed/observedtest"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/test/golden"
)

// Which claims are released with the things that are named, in any spelling, and what serves these: testdata/chosen.txt. Nothing is everything.
//
//	claims   THING... | CLAIM
//	objects  THING... | OBJECT | CLAIM; ...
func TestChosen(t *testing.T) {
	golden.Rules{
		"claims": func(line string) string {
			things, claim, _ := strings.Cut(strings.ReplaceAll(line, "KEY", ot.Key(ot.Shop)), "|")
			return fmt.Sprint(state.NewChoice(strings.Fields(things)).Claim(ot.WordClaims(t, claim)[0]))
		},
		"objects": func(line string) string {
			parts := strings.Split(line, "|")
			return fmt.Sprint(isChosen(strings.Fields(parts[0]), ot.WordObjects(t, parts[1])[0], ot.WordClaims(t, parts[2])))
		},
	}.Check(t, "testdata/chosen.txt")
}

func isChosen(things []string, o *unstructured.Unstructured, claims []*state.Claim) bool {
	return ot.Snapshot(claims, o).IsChosen(ot.Owned(o), state.NewChoice(things))
}
