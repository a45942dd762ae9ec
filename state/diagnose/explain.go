package diagnose

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/view"
)

// Explanation is the state of one host, address, lease or order, the reasons for it, and what the user can do.
type Explanation struct {
	Subject string `json:"subject"`
	// Summary is one sentence. Facts are the reasons for it. Next are commands or advice.
	Summary string   `json:"summary"`
	Facts   []string `json:"facts,omitempty"`
	Next    []string `json:"next,omitempty"`
	// Missing is true for a lease that holds nothing, an endpoint without an address, and an address that is not the
	// provider's.
	Missing bool `json:"-"`
}

// View is the input of explanations.
type View struct {
	Config *config.ProviderConfig
	Claims []*state.Claim
	Book   *view.Book
	// Uses are the routes and ProviderHosts of each host, whoever wrote them.
	Uses map[string][]state.Use
	// AddressUses are the Services that use each address, whoever wrote them.
	AddressUses map[netip.Addr][]state.Use
	// NodeUses are the addresses of the nodes, as far as they may be read.
	NodeUses []state.Use
	// Unlike says which HTTP options the route of a host, made by Akash's hostname operator, has instead of those of the
	// definition with which its lease was last applied.
	Unlike map[string]string
	// Reports are the routers' reports on the routes of each host.
	Reports map[string][]state.Report
	// Unserved says what an Ingress lacks in its status if no controller serves it, by namespace/name.
	Unserved map[string]string
	// Records are this program's DNS records. Unrecorded says, for hosts without one, what is still missing.
	Records    []OwnRecord
	Unrecorded map[string]string
	// Suspended are the leases that the reconciler leaves as they are.
	Suspended map[lease.Group]bool
	// Pools are MetalLB's pools.
	Pools []state.PoolObject
	// Now is by the API server's clock.
	Now time.Time
}

// addClaimTroubles adds what is unusual about a claim. claim may be nil.
func (c *View) addClaimTroubles(x *Explanation, claim *state.Claim) {
	if claim == nil {
		return
	}
	switch {
	case claim.Unreadable != "":
		x.fact("The claim cannot be read: %s. Nobody can claim this thing.", claim.Unreadable)
	case claim.Deleting:
		x.fact("The claim is being deleted: it is free when it is gone.")
		if len(claim.Finalizers) > 0 {
			x.fact("It is kept by %s, until who put them there removes them.", claim.Kept())
			x.next("kubectl -n %s edit lease.coordination.k8s.io/%s", c.Config.LedgerNamespace, claim.Name())
		}
	case claim.Marked():
		x.fact("%s.", strings.ToUpper(claim.AtWork[:1])+claim.AtWork[1:])
		x.next("where it has crashed, run the same apply again, or: kubectl akash-net repair")
	}
	for _, p := range claim.Parts {
		switch {
		case p.Ended(c.Now):
			x.fact("The hold of lease %s ended at %s: whoever comes next may take it.", p.Lease, p.Expires)
		case claim.PartEnded(p, c.Now):
			x.fact("Lease %s announces it until %s, which no run does: whoever comes next may take it.", p.Lease, p.Expires)
		case p.Expires != "":
			x.fact("Lease %s holds it until %s.", p.Lease, p.Expires)
			x.next("the hold becomes a claim with: kubectl akash-net apply -f FILE, or reserve without --expires")
		}
	}
}

func (x *Explanation) merge(subject string, y Explanation) {
	for _, f := range y.Facts {
		x.fact("%s: %s", subject, f)
	}
	for _, n := range y.Next {
		if !slices.Contains(x.Next, n) {
			x.Next = append(x.Next, n)
		}
	}
}

func (x *Explanation) fact(format string, args ...any) {
	x.Facts = append(x.Facts, fmt.Sprintf(format, args...))
}

func (x *Explanation) next(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(x.Next, text) {
		x.Next = append(x.Next, text)
	}
}

func (c *View) claim(name string) *state.Claim {
	if i := slices.IndexFunc(c.Claims, func(c *state.Claim) bool { return c.Name() == name }); i >= 0 {
		return c.Claims[i]
	}
	return nil
}

// addClaimed adds when a claim was made, as which object, and by whom.
func (c *View) addClaimed(x *Explanation, claim *state.Claim) {
	x.fact("Claimed since %s: lease.coordination.k8s.io/%s in namespace %s, by %s.",
		state.Stamp(claim.Created), claim.Name(), c.Config.LedgerNamespace, managers(claim))
}

func managers(c *state.Claim) string {
	var texts []string
	for _, g := range c.Groups() {
		texts = append(texts, "field manager "+g.FieldManager())
	}
	return cmp.Or(strings.Join(texts, ", "), "nobody")
}

func leaseOf(u state.Use) string {
	if !u.HasLease {
		return ", for no lease"
	}
	return ", for lease " + u.Lease.String()
}
