package diagnose

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/thing"
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

// addClaimTroubles adds what is unusual about a claim. claim may be nil.
func (x *Explanation) addClaimTroubles(w *World, claim *state.Claim) {
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
			x.next("kubectl -n %s edit lease.coordination.k8s.io/%s", w.Config.LedgerNamespace, claim.Name())
		}
	case claim.Marked():
		x.fact("%s.", strings.ToUpper(claim.AtWork[:1])+claim.AtWork[1:])
		x.next("where it has crashed, run the same apply again, or: kubectl akash-net repair")
	}
	for _, p := range claim.Parts {
		switch {
		case p.Ended(w.Now):
			x.fact("The hold of lease %s ended at %s: whoever comes next may take it.", p.Lease, p.Expires)
		case claim.PartEnded(p, w.Now):
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

// addClaimed adds when a claim was made, as which object, and by whom.
func (x *Explanation) addClaimed(w *World, claim *state.Claim) {
	x.fact("Claimed since %s: lease.coordination.k8s.io/%s in namespace %s, by %s.",
		state.Stamp(claim.Created), claim.Name(), w.Config.LedgerNamespace, managers(claim))
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

// Lease explains a lease: everything that it holds or waits for.
func (w *World) Lease(g lease.Group) Explanation {
	x := Explanation{Subject: g.String()}
	states, seen, silent := map[string]int{}, map[string]bool{}, 0
	add := func(name string, s standing, explain func(*Explanation)) {
		if states[s.state]++; s.state == view.StateActive && s.silent != "" {
			silent++
		}
		y := Explanation{}
		explain(&y)
		x.merge(name, y)
	}
	for _, r := range w.of(g).hosts {
		s := hostStanding(r)
		add(r.Host, s, func(y *Explanation) {
			y.addHostRow(w, r)
			y.addUnsettled(s)
			if r.State != view.StateWithheld && !seen[r.Host] {
				seen[r.Host] = true
				y.addDNS(w, r.Host, &g)
			}
		})
		if !r.Claimed && r.State != view.StateWithheld {
			x.fact("%s: no claim; it remains of a former lease, or Akash's provider wrote it.", r.Host)
		}
	}
	for _, r := range w.of(g).ips {
		s := addressStanding(r)
		add(cmp.Or(addressOf(r), "no address yet"), s, func(y *Explanation) {
			y.addIPRow(r)
			y.addUnsettled(s)
		})
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
	if w.Suspended[g] {
		x.fact("It is suspended: the reconciler does nothing for it.")
		x.next("to let the reconciler go on with it: kubectl akash-net resume %s", g)
	}
	x.Summary = fmt.Sprintf("lease %s holds nothing", g)
	if total > 0 {
		x.Summary = fmt.Sprintf("lease %s: %s", g, strings.Join(words, ", "))
	}
	return x
}

// addUnsettled adds what the explanation of a host or an address would say about its claim.
func (x *Explanation) addUnsettled(s standing) {
	switch s.state {
	case view.StateExpired:
		x.fact("The hold ended at %s: whoever comes next may take it.", s.expires)
	case view.StateClaiming:
		x.fact("A run that took it has not ended: it is under way, or it has crashed.")
		x.next("run the same apply again, or: kubectl akash-net repair")
	case view.StateTerminating:
		x.fact("The claim is being deleted: it is free when it is gone.")
	case view.StateUnreadable:
		x.fact("The claim cannot be read: %s. Nobody can claim this thing.", s.message)
	}
}

// Explain explains a thing. A name that may be a host or an IP endpoint is an endpoint if an endpoint of that name has
// an address and no host of that name is claimed.
func (w *World) Explain(t thing.Thing) Explanation {
	switch t.Kind {
	case thing.Lease:
		x := w.Lease(t.Group)
		x.Missing = !w.holds(t.Group)
		return x
	case thing.Address:
		return w.IP(t.Addr)
	case thing.Endpoint:
		return w.Endpoint(t.Endpoint)
	}
	if t.Endpoint != "" && w.claim(state.HostName(t.Host)) == nil && len(w.endpoints(t.Endpoint)) > 0 {
		return w.Endpoint(t.Endpoint)
	}
	if t.Path != "" {
		return w.Path(t.Host, t.Path)
	}
	return w.Host(t.Host)
}

// holds reports whether the group has a row in the book.
func (w *World) holds(g lease.Group) bool {
	return len(w.of(g).hosts)+len(w.of(g).ips) > 0
}

// Path explains a path of a host: who holds it, and the state of the host.
func (w *World) Path(host, path string) Explanation {
	name := lease.HostPath(host, path)
	x := w.Host(host)
	x.Subject = name
	claim := w.claim(state.HostName(host))
	if claim == nil {
		x.fact("Nothing is held of %s, so no path of it is.", host)
		return x
	}
	if part := claim.Part(state.RouteKey(path)); part != nil {
		of := slices.DeleteFunc(slices.Clone(w.hosts[host]), func(r view.HostRow) bool { return lease.HostPath(r.Host, r.Path) != name })
		x.Summary = fmt.Sprintf("%s is held by %s%s", name, part.Lease.Group(), verdictOf(of, hostStanding))
		return x
	}
	x.Summary = fmt.Sprintf("%s is held by nobody, and only the owner of %s can take it: %s", name, host, claim.Owner)
	return x
}

// Endpoint explains all IP endpoints with the name, each with its address.
func (w *World) Endpoint(name string) Explanation {
	x := Explanation{Subject: name}
	claims := w.endpoints(name)
	switch len(claims) {
	case 0:
		x.Summary, x.Missing = fmt.Sprintf("no IP endpoint named %s has an address", name), true
	case 1:
		x.Summary = fmt.Sprintf("IP endpoint %s has an address", name)
	default:
		x.Summary = fmt.Sprintf("IP endpoints named %s have %d addresses", name, len(claims))
	}
	for _, claim := range claims {
		if claim.Kind == state.Endpoint {
			x.Summary = fmt.Sprintf("IP endpoint %s is held; MetalLB chooses its addresses", name)
			x.merge(claim.Thing, w.claimedEndpoint(claim))
			continue
		}
		x.fact("%s of owner %s.", claim.Thing, claim.Owner)
		x.merge(claim.Thing, w.IP(claim.Addr()))
	}
	return x
}

// endpoints returns the claims on IP endpoints with the name, and on their addresses.
func (w *World) endpoints(name string) []*state.Claim {
	var claims []*state.Claim
	for _, claim := range w.Contents.Claims {
		if claim.Kind.HasPorts() && (claim.SharingKey == name || claim.SharingKey == lease.SharingKey(claim.Owner, name)) {
			claims = append(claims, claim)
		}
	}
	slices.SortFunc(claims, func(a, b *state.Claim) int { return a.Addr().Compare(b.Addr()) })
	return claims
}
