package diagnose

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state/inventory"
	"github.com/akash-net/kubectl-akash-net/state/reserved"
	"github.com/akash-net/kubectl-akash-net/state/statetest"
)

// The explanation of an order, word by word. ORDER, GROUP, CLAIM and PROVIDER replace names, :N minutes.
func TestExplainOrder(t *testing.T) {
	order := lease.Order{Owner: statetest.Shop.Owner, DSeq: 7, GSeq: 1, OSeq: 1}
	at := func(minute int) string { return statetest.Minute(minute).UTC().Format(time.RFC3339) }
	part := func(cpu uint64, by string, change ...func(*reserved.Part)) *reserved.Part {
		p := &reserved.Part{Asked: fmt.Sprint(cpu), By: by, Hold: inventory.Hold{Nodes: map[string]inventory.Amounts{"n1": {CPU: cpu}}}}
		for _, c := range change {
			c(p)
		}
		return p
	}
	until := func(minute int) func(*reserved.Part) { return func(p *reserved.Part) { p.Expires = at(minute) } }
	won := func(p *reserved.Part) { p.Provider = statetest.Shop.Provider }
	uses := func(cpu uint64) func(inventory.Hold) inventory.Hold {
		return func(h inventory.Hold) inventory.Hold {
			return h.Minus(inventory.Hold{Nodes: map[string]inventory.Amounts{"n1": {CPU: cpu}}})
		}
	}
	const (
		since = "It stands since 1: lease.coordination.k8s.io/CLAIM in namespace ledger"
		ann   = since + ", last written by ann@laptop."
		node  = "Node n1: 2 CPU."
		noEnd = "It has no end: it stands until it is given up."
		lost  = "-> where the bid is lost: kubectl akash-net unreserve --order ORDER"
		wins  = "-> where it is won: kubectl akash-net apply -f FILE --lease ORDER/PROVIDER --workloads"
		free  = "-> the lease gives it up with what it runs: kubectl akash-net release GROUP"
		idle  = "Nothing of it is in use."
	)
	for name, tt := range map[string]struct {
		facts OrderFacts
		want  []string
	}{
		"nothing": {OrderFacts{}, []string{"order ORDER has reserved nothing (missing)"}},
		"a bid": {OrderFacts{Claim: &reserved.Claim{Bound: part(2000, "ann@laptop", until(10))}, Beyond: uses(0)},
			[]string{"order ORDER has reserved 2 CPU, for a bid", ann, node, "It ends at 10.", idle, lost, wins}},
		"a bid without end, by nobody that is known": {OrderFacts{Claim: &reserved.Claim{Bound: part(2000, "")}, Beyond: uses(0)},
			[]string{"order ORDER has reserved 2 CPU, for a bid", since + ".", node, noEnd, idle, lost, wins}},
		"a lease that uses some": {OrderFacts{Claim: &reserved.Claim{Bound: part(2000, "ann@laptop", won)}, Beyond: uses(500)},
			[]string{"order ORDER has reserved 2 CPU, for its lease at PROVIDER", ann, node, noEnd,
				"In use by the lease's pods, volumes and addresses: 500m CPU. Kept for it: 1500m CPU.", free}},
		"a lease that uses all": {OrderFacts{Claim: &reserved.Claim{Bound: part(2000, "ann@laptop", won)}, Beyond: uses(9000)},
			[]string{"order ORDER has reserved 2 CPU, for its lease at PROVIDER", ann, node, noEnd, "All of it is in use by the lease's pods, volumes and addresses.", free}},
		"what is used could not be read": {OrderFacts{Claim: &reserved.Claim{Bound: part(2000, "ann@laptop", won)}, Unread: "pods are forbidden."},
			[]string{"order ORDER has reserved 2 CPU, for its lease at PROVIDER", ann, node, noEnd, "What its lease uses of it could not be read: pods are forbidden.", free}},
		"announced": {OrderFacts{Claim: &reserved.Claim{Pending: part(2000, "ann@laptop", until(10))}, Beyond: uses(0)},
			[]string{"a run reserves 2 CPU for order ORDER", ann, node,
				"Pending: its run binds it once it fits together with all others. Expires at 10 unless the run renews it."}},
		"over": {OrderFacts{Claim: &reserved.Claim{Bound: part(2000, "ann@laptop", until(8))}, Beyond: uses(0)},
			[]string{"what order ORDER has reserved is over: 2 CPU", ann, node, "It ended at 8: whoever needs the room removes it.", idle, "-> kubectl akash-net unreserve --order ORDER"}},
		"its run has crashed": {OrderFacts{Claim: &reserved.Claim{Pending: part(2000, "ann@laptop", until(8))}, Beyond: uses(0)},
			[]string{"what order ORDER has reserved is over: 2 CPU", ann, node, "It ended at 8: whoever needs the room removes it.", "-> kubectl akash-net unreserve --order ORDER"}},
		"moves": {OrderFacts{Claim: &reserved.Claim{Bound: part(2000, "ann@laptop"), Pending: part(3000, "bob@desk", until(10))}, Beyond: uses(0)},
			[]string{"order ORDER has reserved 2 CPU, for a bid", ann, node, noEnd,
				"A run of bob@desk moves it to 3 CPU. Until that is bound the larger of both is taken; the announcement stands until 10.", idle, lost, wins}},
		"a move that crashed": {OrderFacts{Claim: &reserved.Claim{Bound: part(2000, "ann@laptop"), Pending: part(3000, "", until(8))}, Beyond: uses(0)},
			[]string{"order ORDER has reserved 2 CPU, for a bid", ann, node, noEnd,
				"A run of nobody that is known has not moved it to 3 CPU: what it announced ended at 8.", idle, lost, wins}},
		"is going": {OrderFacts{Claim: &reserved.Claim{Bound: part(2000, "ann@laptop"), Deleting: true}},
			[]string{"the reservation of order ORDER is being deleted", ann, "It takes no room any more. The order can reserve anew when it is gone."}},
		"is kept from going": {OrderFacts{Claim: &reserved.Claim{Bound: part(2000, "ann@laptop"), Deleting: true, Finalizers: []string{"example.com/keep"}}},
			[]string{"the reservation of order ORDER is being deleted", ann, "It takes no room any more. The order can reserve anew when it is gone.",
				"It is kept by finalizers, until who put them there removes them: example.com/keep.", "-> kubectl -n ledger edit lease.coordination.k8s.io/CLAIM"}},
		"cannot be read": {OrderFacts{Claim: &reserved.Claim{Unreadable: "no JSON"}},
			[]string{"the reservation of order ORDER cannot be read", since + ".",
				"It cannot be understood: no JSON. Nobody knows what it takes, so no order can reserve anything.",
				"-> look who wrote it, and delete it where nothing rests on it: kubectl -n ledger delete lease.coordination.k8s.io/CLAIM"}},
		"takes nothing": {OrderFacts{Claim: &reserved.Claim{Bound: &reserved.Part{Asked: "a", Expires: at(10)}}, Beyond: uses(0)},
			[]string{"order ORDER has reserved nothing, for a bid", since + ".", "It ends at 10.", idle, lost, wins}},
	} {
		t.Run(name, func(t *testing.T) {
			f := tt.facts
			f.Order, f.LedgerNamespace, f.Now = order, "ledger", statetest.Minute(9)
			if f.Claim != nil {
				f.Claim.Order, f.Claim.ObjectName, f.Claim.Created = order, reserved.Name(order), statetest.Minute(1)
			}
			var got []string
			x := f.Explain()
			first := x.Summary
			if x.Missing {
				first += " (missing)"
			}
			for _, line := range append([]string{first}, x.Facts...) {
				got = append(got, shortly(line, order))
			}
			for _, n := range x.Next {
				got = append(got, shortly("-> "+n, order))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" || x.Subject != "order/"+order.String() {
				t.Errorf("%s (-want +got):\n%s", x.Subject, diff)
			}
		})
	}
}

// shortly replaces names and times.
func shortly(line string, order lease.Order) string {
	names := []string{reserved.Name(order), "CLAIM", order.String(), "ORDER", order.Group().String(), "GROUP", statetest.Shop.Provider, "PROVIDER"}
	for minute := range 12 {
		m := statetest.Minute(minute)
		names = append(names, m.UTC().Format(time.RFC3339), fmt.Sprint(minute), m.UTC().Format("2006-01-02 15:04:05 UTC"), fmt.Sprint(minute))
	}
	return strings.NewReplacer(names...).Replace(line)
}

// The first nodes of a reservation are named, the others counted.
func TestExplainOrderOnManyNodes(t *testing.T) {
	hold := inventory.Hold{Nodes: map[string]inventory.Amounts{}}
	for i := range 25 {
		hold.Nodes[fmt.Sprintf("n%02d", i)] = inventory.Amounts{CPU: 1000}
	}
	x := OrderFacts{Claim: &reserved.Claim{Bound: &reserved.Part{Asked: "a", Hold: hold}}}.Explain()
	text := strings.Join(x.Facts, "\n")
	if !strings.Contains(text, "Node n19: 1 CPU.\n5 more nodes.") || strings.Contains(text, "n20") {
		t.Error(text)
	}
}
