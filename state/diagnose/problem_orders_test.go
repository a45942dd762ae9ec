package diagnose

import (
	"strings"
	"testing"
	"time"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/reserved"
	"github.com/akash-net/kubectl-akash-net/state/statetest"
	"github.com/akash-net/kubectl-akash-net/state/view"
)

// An expired reservation is freed, pinned to what was read. An unreadable one waits for the user.
func TestProblemsOfOrders(t *testing.T) {
	ends := func(minute int) *reserved.Part {
		return &reserved.Part{Asked: "a", By: "ann@laptop", Expires: statetest.Minute(minute).Format(time.RFC3339)}
	}
	order := lease.Order{Owner: statetest.Shop.Owner, DSeq: 7, GSeq: 1, OSeq: 1}
	for name, tt := range map[string]struct {
		claim reserved.Claim
		want  string
	}{
		"without end":              {reserved.Claim{Bound: &reserved.Part{Asked: "a"}}, ""},
		"live":                     {reserved.Claim{Bound: ends(10)}, ""},
		"over":                     {reserved.Claim{Bound: ends(8)}, state.HoldEnded},
		"pending":                  {reserved.Claim{Pending: ends(10)}, ""},
		"its run has crashed":      {reserved.Claim{Pending: ends(8)}, state.HoldEnded},
		"a move that crashed":      {reserved.Claim{Bound: ends(10), Pending: ends(8)}, ""},
		"over, and going":          {reserved.Claim{Bound: ends(8), Deleting: true}, ""},
		"cannot be read":           {reserved.Claim{Unreadable: "no JSON"}, state.UnreadableClaim},
		"cannot be read, and goes": {reserved.Claim{Unreadable: "no JSON", Deleting: true}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			c := tt.claim
			c.Order, c.ObjectName, c.UID, c.ResourceVersion = order, reserved.Name(order), "u", "7"
			found := Problems(ProblemFacts{View: &View{Config: config.Default(), Book: &view.Book{}, Now: statetest.Minute(9)},
				Contents: view.Contents{Reservations: []*reserved.Claim{&c}}})
			if tt.want == "" {
				if len(found) > 0 {
					t.Fatalf("found %+v", found)
				}
				return
			}
			if len(found) != 1 || found[0].Problem != tt.want {
				t.Fatalf("found %+v", found)
			}
			x := found[0]
			if ref := x.Mend.(state.DropFromLedger).Object; ref.Name != c.ObjectName || ref.UID != "u" || ref.ResourceVersion != "7" {
				t.Errorf("it is mended by %+v", x.Mend)
			}
			switch tt.want {
			case state.HoldEnded:
				if x.Manual {
					t.Error("it is not mended by repair")
				}
				if x.Thing != "order/"+order.String() || !strings.Contains(x.Message, "ann@laptop") {
					t.Errorf("it says %s: %s", x.Thing, x.Message)
				}
			default:
				if !x.Named || !strings.HasSuffix(x.Command, c.ObjectName) {
					t.Errorf("it is mended by %q", x.Command)
				}
			}
		})
	}
}

// A reservation for which the room is gone is reserved again by the user, or given up: repair does neither.
func TestRoomGone(t *testing.T) {
	order := lease.Order{Owner: statetest.Shop.Owner, DSeq: 7, GSeq: 1, OSeq: 1}
	for name, tt := range map[string]struct {
		claim reserved.Claim
		lost  bool
		want  string
	}{
		"lost":           {reserved.Claim{Bound: &reserved.Part{Asked: "a"}}, true, state.RoomGone},
		"it has room":    {reserved.Claim{Bound: &reserved.Part{Asked: "a"}}, false, ""},
		"lost, and over": {reserved.Claim{Bound: &reserved.Part{Asked: "a", Expires: statetest.Minute(8).Format(time.RFC3339)}}, true, state.HoldEnded},
		"lost, and goes": {reserved.Claim{Bound: &reserved.Part{Asked: "a"}, Deleting: true}, true, ""},
	} {
		c := tt.claim
		c.Order, c.ObjectName = order, reserved.Name(order)
		found := Problems(ProblemFacts{View: &View{Config: config.Default(), Book: &view.Book{}, Now: statetest.Minute(9)},
			Contents: view.Contents{Reservations: []*reserved.Claim{&c}}, Lost: map[string]bool{c.ObjectName: tt.lost}})
		if got := strings.Join(kindsOf(found), " "); got != tt.want {
			t.Errorf("%s: found %s", name, got)
		}
		for _, x := range found {
			if x.Problem == state.RoomGone && (!x.Manual || x.Mend != nil || x.Command != "kubectl akash-net reserve --order "+order.String()+" -f FILE") {
				t.Errorf("%s: it is mended by %+v", name, x)
			}
		}
	}
}

func kindsOf(found []state.Problem) (kinds []string) {
	for _, x := range found {
		kinds = append(kinds, x.Problem)
	}
	return kinds
}
