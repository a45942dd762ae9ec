package routes

import (
	"slices"
	"testing"

	"github.com/akash-net/kubectl-akash-net/apply/claims"
	"github.com/akash-net/kubectl-akash-net/apply/command"
	ot "github.com/akash-net/kubectl-akash-net/apply/observed/observedtest"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/report"
	"github.com/akash-net/kubectl-akash-net/state"
)

// The first router that accepts a route is told, with a backend that it does not find, unless nothing was changed.
func TestReportAccepted(t *testing.T) {
	accepted := state.Report{By: "gw/a", Verdict: state.RouteAccepted}
	unresolved := state.Report{By: "gw/b", Verdict: state.RouteAccepted, Unresolved: "no service web"}
	stale := state.Report{By: "gw/c", Verdict: state.RouteAccepted, Stale: "gone"}
	for name, tt := range map[string]struct {
		reports []state.Report
		changed bool
		want    []string
	}{
		"accepted":                 {[]state.Report{stale, accepted, unresolved}, true, []string{"by gw/a"}},
		"accepted, and unresolved": {[]state.Report{unresolved}, true, []string{"by gw/b, which does not find its backend yet (no service web)"}},
		"by nobody":                {[]state.Report{stale}, true, nil},
		"nothing was changed":      {[]state.Report{accepted}, false, nil},
	} {
		var got []string
		c := claims.New(&command.Command{Options: command.Options{Report: func(e report.Event) {
			if e.Action == report.Accepted {
				got = append(got, e.Message)
			}
		}}}, nil, state.Request{Lease: ot.Shop})
		if tt.changed {
			c.Event(report.Created, "httproute", "ns", "shop", "")
		}
		(&Successors{Claims: c}).reportAccepted(render.Object{Kind: kinds.HTTPRoute, Namespace: "ns", Name: "shop"}, tt.reports)
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q", name, got)
		}
	}
}
