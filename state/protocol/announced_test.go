package protocol_test

import (
	"slices"
	"testing"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/protocol"
)

var shopGroup, blogGroup = lease.Group{Owner: "akash1a", DSeq: 1, GSeq: 1}, lease.Group{Owner: "akash1b", DSeq: 1, GSeq: 1}

func announced(nonce string, phase state.Phase, groups ...lease.Group) *state.Announcement {
	a := &state.Announcement{Nonce: nonce, Phase: phase, Groups: groups}
	if phase == state.Fenced {
		a.FencedBy = "x"
	}
	return a
}

// Of two runs of one group the one that sorts later yields. A dead run is fenced; a fenced one blocks nobody.
func TestAmong(t *testing.T) {
	own := announced("m", state.Active, shopGroup)
	for name, tt := range map[string]struct {
		all   []*state.Announcement
		dead  string
		turn  protocol.Turn
		other string
	}{
		"nobody else":                   {[]*state.Announcement{own}, "", protocol.Work, ""},
		"another group":                 {[]*state.Announcement{own, announced("a", state.Active, blogGroup)}, "", protocol.Work, ""},
		"an earlier one":                {[]*state.Announcement{own, announced("a", state.Active, shopGroup)}, "", protocol.Withdraw, "a"},
		"a later one":                   {[]*state.Announcement{own, announced("z", state.Active, blogGroup, shopGroup)}, "", protocol.Await, "z"},
		"one that gives back":           {[]*state.Announcement{own, announced("a", state.Undoing, shopGroup)}, "", protocol.Withdraw, "a"},
		"a dead one":                    {[]*state.Announcement{own, announced("a", state.Active, shopGroup)}, "a", protocol.Fence, "a"},
		"a dead one and one that works": {[]*state.Announcement{own, announced("a", state.Active, shopGroup), announced("z", state.Active, shopGroup)}, "z", protocol.Fence, "z"},
		"a fenced one":                  {[]*state.Announcement{own, announced("a", state.Fenced, shopGroup)}, "", protocol.Work, ""},
		"the own one was fenced":        {[]*state.Announcement{announced("m", state.Fenced, shopGroup)}, "", protocol.Stop, ""},
		"the own one is gone":           {[]*state.Announcement{announced("a", state.Active, blogGroup)}, "", protocol.Stop, ""},
	} {
		t.Run(name, func(t *testing.T) {
			turn, other := protocol.NextTurn(own, tt.all, func(a *state.Announcement) bool { return a.Nonce == tt.dead })
			if turn != tt.turn || (other == nil) != (tt.other == "") || other != nil && other.Nonce != tt.other {
				t.Errorf("turn %d for %v, want %d for %q", turn, other, tt.turn, tt.other)
			}
		})
	}
}

// A fenced announcement names the groups whose work is unfinished.
func TestRemaining(t *testing.T) {
	dead := announced("a", state.Fenced, shopGroup, blogGroup)
	if got := protocol.Remaining(dead, []lease.Group{shopGroup}); !slices.Equal(got, []lease.Group{blogGroup}) {
		t.Errorf("left are %v", got)
	}
	if len(dead.Groups) != 2 {
		t.Errorf("what was read has changed: %v", dead.Groups)
	}
}
