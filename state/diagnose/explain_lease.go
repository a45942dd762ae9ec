package diagnose

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state/view"
)

// Lease explains a lease: everything that it holds or waits for.
func (c *View) Lease(g lease.Group) Explanation {
	x := Explanation{Subject: g.String()}
	states, seen, silent := map[string]int{}, map[string]bool{}, 0
	of := func(t *view.Tenant) bool { return t.ID().Group() == g }
	for _, r := range c.Book.Hosts {
		if of(r.Tenant) {
			states[r.State]++
			if r.State == view.StateActive && r.Silent() != "" {
				silent++
			}
			y := Explanation{}
			c.addHostRow(&y, r)
			y.addUnsettled(r.State, r.Expires, r.Message)
			if r.State != view.StateWithheld && !seen[r.Host] {
				seen[r.Host] = true
				c.addDNS(&y, r.Host, &g)
			}
			x.merge(r.Host, y)
			if !r.Claimed && r.State != view.StateWithheld {
				x.fact("%s: no claim; it is left over, or Akash's provider wrote it.", r.Host)
			}
		}
	}
	for _, r := range c.Book.IPs {
		if of(r.Tenant) {
			states[r.State]++
			if r.State == view.StateActive && r.Silent() != "" {
				silent++
			}
			y := Explanation{}
			c.addIPRow(&y, r)
			y.addUnsettled(r.State, r.Expires, r.Message)
			x.merge(cmp.Or(addressOf(r), "no address yet"), y)
		}
	}
	total := 0
	var words []string
	for _, s := range []string{
		view.StateActive, view.StateTransferring, view.StatePending, view.StateReserved, view.StateExpired,
		view.StateClaiming, view.StateWithheld, view.StateTerminating, view.StateUnreadable,
	} {
		total += states[s]
		if states[s] > 0 {
			words = append(words, fmt.Sprintf("%d %s", states[s], strings.ToLower(s)))
		}
		if s == view.StateActive && silent > 0 {
			words = append(words, fmt.Sprintf("%d of them not answering", silent))
		}
	}
	if c.Suspended[g] {
		x.fact("It is suspended: the reconciler leaves it as it is.")
		x.next("to let the reconciler go on with it: kubectl akash-net resume %s", g)
	}
	x.Summary = fmt.Sprintf("lease %s holds nothing", g)
	if total > 0 {
		x.Summary = fmt.Sprintf("lease %s: %s", g, strings.Join(words, ", "))
	}
	return x
}

// addUnsettled adds what the explanation of a host or an address would say about its claim.
func (x *Explanation) addUnsettled(state, expires, message string) {
	switch state {
	case view.StateExpired:
		x.fact("The hold ended at %s: whoever comes next may take it.", expires)
	case view.StateClaiming:
		x.fact("A run that took it has not ended: it is under way, or it has crashed.")
		x.next("run the same apply again, or: kubectl akash-net repair")
	case view.StateTerminating:
		x.fact("The claim is being deleted: it is free when it is gone.")
	case view.StateUnreadable:
		x.fact("The claim cannot be read: %s. Nobody can claim this thing.", message)
	}
}
