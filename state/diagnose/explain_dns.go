package diagnose

import (
	"fmt"
	"slices"
	"strings"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/dns"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/view"
)

// addDNS adds the DNS records of a host and why they are not served. With a group it adds only the records of that
// group.
func (c *View) addDNS(x *Explanation, host string, group *lease.Group) {
	found, others := false, ""
	for _, r := range c.Records {
		if r.Object.Host != host {
			continue
		}
		found = true
		if group == nil || r.Object.HasLease && r.Object.Lease.Group() == *group {
			c.addRecord(x, r)
		} else if r.Object.HasLease {
			others = r.Object.Lease.String()
		}
	}
	if others != "" {
		x.fact("DNS: lease %s has its records.", others)
	}
	live := slices.ContainsFunc(c.Book.Hosts, func(r view.HostRow) bool {
		return r.Host == host && r.State == view.StateActive && r.Claimed
	})
	switch form := c.Config.DNS.Form; {
	case found || !live:
	case form == config.DNSAnnotations:
		x.fact("DNS: external-dns makes its record of the route; nothing in the cluster tells whether it has.")
	case !c.Config.DNS.Records():
	case c.Unrecorded[host] != "":
		x.fact("DNS: no record leads to it: %s.", c.Unrecorded[host])
	default:
		x.fact("DNS: no record leads to it.")
		x.next("its record is written with: kubectl akash-net apply -f FILE")
	}
}

// addRecord adds the records of one object and their state.
func (c *View) addRecord(x *Explanation, r OwnRecord) {
	o := r.Object
	texts := make([]string, len(o.Records))
	for i, rec := range o.Records {
		texts[i] = fmt.Sprintf("%s %s %s, %s", rec.Name, rec.Type, strings.Join(rec.Values, " "), ttlText(rec))
	}
	zone := ""
	if o.Zone != "" {
		zone = ", in zone " + o.Zone
	}
	x.fact("DNS: %s%s (%s).", strings.Join(texts, "; "), zone, r.Ref)
	describe := fmt.Sprintf("kubectl -n %s describe %s %s", o.Namespace, o.Resource(), o.Name)
	switch o.State {
	case view.StateActive:
		x.fact("%s is served%s.", r.Ref, lastOperation(o))
	case view.StateFailed:
		x.fact("%s is not served: its controller could not make it%s: %s.", r.Ref, lastOperation(o), strings.TrimSuffix(o.Message, "."))
		x.next("fix what the controller reports, then trigger it again: kubectl -n %s annotate --overwrite %s %s %s=reconcile",
			o.Namespace, o.Resource(), o.Name, view.GardenerOperation)
	case view.StateTerminating:
		x.fact("%s is being deleted, and its controller has not let it go%s.", r.Ref, lastOperation(o))
		x.next("%s", describe)
	default:
		x.fact("%s is not served yet: its controller has not taken it up as it is now%s.", r.Ref, lastOperation(o))
		x.next("%s (and see that its controller runs)", describe)
	}
	c.addRecordTroubles(x, r)
}

// addRecordTroubles adds what repair would fix.
func (c *View) addRecordTroubles(x *Explanation, r OwnRecord) {
	claim := c.claim(state.HostName(r.Object.Host))
	why := r.differs()
	switch {
	case r.Object.State == view.StateTerminating:
		return
	case view.FormOf(r.Object.Kind) != c.Config.DNS.Form:
		why = "is of a form that the configuration does not have (dns.form: " + c.Config.DNS.Form + ")"
	case claim != nil && claim.Unreadable != "":
		return
	case r.Object.HasLease && (claim == nil || len(claim.PartsOf(r.Object.Lease.Group())) == 0):
		why = fmt.Sprintf("is of lease %s, which does not hold the host", r.Object.Lease)
	}
	if why != "" {
		x.fact("%s %s.", r.Ref, why)
		x.next("kubectl akash-net repair")
	}
}

func lastOperation(o view.RecordObject) string {
	if o.Operation == "" {
		return ""
	}
	return " (" + o.Operation + ")"
}

func ttlText(r dns.Record) string {
	if r.TTL == 0 {
		return "TTL left to whoever serves it"
	}
	return fmt.Sprintf("TTL %d s", r.TTL)
}
