package protocol_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/protocol"
	"github.com/akash-net/kubectl-akash-net/state/statetest/claimtest"
)

var nexts = map[protocol.Next]string{protocol.Rest: "goes on", protocol.Read: "waits, and reads again", protocol.Write: "writes", protocol.Yield: "yields", protocol.Evict: "removes what has ended"}

// What a run does about a wildcard above its hosts, and about hosts below its wildcard: testdata/claims.txt.
//
//	above   LEASE | the claim on the wildcard
//	below   LEASE | claims on hosts below *.example.com, ";;" between them: what the run does that takes the wildcard
func TestClaims(t *testing.T) {
	datadriven.RunTest(t, "testdata/claims.txt", func(t *testing.T, d *datadriven.TestData) string {
		var out strings.Builder
		for line := range strings.Lines(d.Input) {
			f := strings.Split(strings.TrimSpace(line)+" | | ", " | ")
			group := claimtest.WordLease(t, f[0]).Group()
			var claims []*state.Claim
			for one := range strings.SplitSeq(f[1], ";;") {
				if c := claimtest.WordClaim(t, one); c != nil {
					claims = append(claims, c)
				}
			}
			claims = append(claims, nil)
			var said string
			switch d.Cmd {
			case "above":
				said = nexts[protocol.Above(group, claimtest.Now, claims[0])]
			case "below":
				stand, ended := protocol.Below(group, claimtest.Now, "*.example.com", claims[:len(claims)-1])
				own := claimtest.WordClaim(t, "wildcard *.example.com A: / A/1 minute=61")
				next, parts := protocol.Bind(state.Hold{Kind: state.Wildcard}, own, group, stand, ended)
				said = nexts[next]
				for _, p := range parts {
					said += fmt.Sprintf(", bound %t", p.Bound)
				}
			}
			fmt.Fprintf(&out, "%s  =>  %s\n", strings.TrimSpace(line), said)
		}
		return out.String()
	})
}
