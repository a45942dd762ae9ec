package diagnose

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/dns"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/view"
)

// OwnRecord is an object of this program with DNS records.
type OwnRecord struct {
	Ref    state.ObjectRef
	Object view.RecordObject
	// Want are the records that the lease should have for the host. They are set only if Known is true.
	Want  []dns.Record
	Known bool
}

// checkRecords finds DNS records that are stray or wrong. A name that points at an address must not survive: whoever
// gets the address next would get the name's traffic.
func (p *problems) checkRecords() {
	type of struct {
		host  string
		group lease.Group
	}
	has := map[of][]dns.Record{} // a host may have its records in several objects
	for _, r := range p.Records {
		if r.Object.HasLease {
			k := of{r.Object.Host, r.Object.Lease.Group()}
			has[k] = append(has[k], r.Object.Records...)
		}
	}
	for _, r := range p.Records {
		o := r.Object
		if o.Host == "" || !o.HasLease || o.State == view.StateTerminating {
			continue
		}
		base := state.Problem{Thing: o.Host, Namespace: o.Namespace, Lease: o.Lease.String(), Since: metav1.NewTime(o.Since)}
		c, where := p.claims[state.HostName(o.Host)], r.Ref.String()
		switch {
		case view.FormOf(o.Kind) != p.Config.DNS.Form:
			base.Message = fmt.Sprintf("%s has a DNS record of it, and the configuration has none of that form (dns.form: %s)",
				where, p.Config.DNS.Form)
		case c == nil || len(c.Parts) == 0 && c.Unreadable == "":
			base.Message = where + " has a DNS record of it, and nobody has claimed it"
		case c.Unreadable != "":
			continue
		case len(c.FormerOf(o.Lease.Group())) > 0: // its routes still serve the host after a transfer
			continue
		case len(c.PartsOf(o.Lease.Group())) == 0:
			base.Message = fmt.Sprintf("%s has a DNS record of it, and %s holds it", where, state.Holders(c))
		default:
			if why := cmp.Or(r.differs(), r.lacks(has[of{o.Host, o.Lease.Group()}])); why != "" {
				p.addOnce(fill(base, state.RecordDiffers, where+" "+why, "write the DNS records of the host anew",
					state.WriteRecords{Host: o.Host, Part: c.PartsOf(o.Lease.Group())[0]}))
			}
			continue
		}
		base.Problem, base.Plan, base.Mend = state.StrayRecord, "delete "+where, state.DeleteObjects{Delete: []state.ObjectRef{r.Ref}}
		p.add(base)
	}
}

// addOnce adds a problem that all records of a host share.
func (p *problems) addOnce(x state.Problem) {
	if !slices.ContainsFunc(p.found, func(y state.Problem) bool { return y.Name() == x.Name() && y.Lease == x.Lease }) {
		p.add(x)
	}
}

// differs returns how a record differs from the wanted one, or "".
func (r OwnRecord) differs() string {
	if !r.Known {
		return ""
	}
	for _, is := range r.Object.Records {
		i := slices.IndexFunc(r.Want, func(w dns.Record) bool { return w.Name == is.Name && w.Type == is.Type })
		switch {
		case i < 0:
			return fmt.Sprintf("has a record %s %s %s, which is not wanted", is.Name, is.Type, strings.Join(is.Values, ", "))
		case !reflect.DeepEqual(r.Want[i], is):
			return fmt.Sprintf("says %s %s, it is to be %s", is.Type, recordText(is), recordText(r.Want[i]))
		}
	}
	return ""
}

// lacks returns which of the wanted records the objects of the host do not have, or "".
func (r OwnRecord) lacks(has []dns.Record) string {
	if !r.Known {
		return ""
	}
	for _, want := range r.Want {
		if !slices.ContainsFunc(has, func(is dns.Record) bool { return is.Name == want.Name && is.Type == want.Type }) {
			return fmt.Sprintf("lacks the record %s %s %s", want.Name, want.Type, recordText(want))
		}
	}
	return ""
}

func recordText(r dns.Record) string {
	text := strings.Join(r.Values, ", ")
	if r.TTL > 0 {
		text += fmt.Sprintf(" (TTL %d)", r.TTL)
	}
	return text
}
