package claims

import (
	"slices"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/plan"
	"github.com/akash-net/kubectl-akash-net/report"
	"github.com/akash-net/kubectl-akash-net/state"
)

// withhold records, and reports once, that another deployment of the owner has a part. It returns a MovedError if the
// run carries out a plan that claims the part.
func (r *Claims) withhold(h state.Hold, p state.Part, by state.Holder) error {
	r.note(h, p)
	var name string
	if !h.Kind.HasPorts() {
		name = lease.HostPath(h.Thing, p.Path)
		if r.WithheldHosts[name] {
			return nil
		}
		r.WithheldHosts[name] = true
	} else {
		protocol, port := p.ProtocolPort()
		leasedIP := lease.LeasedIPName(h.SharingKey, protocol, port)
		if r.WithheldPorts[leasedIP] {
			return nil
		}
		r.WithheldPorts[leasedIP] = true
		name = h.Thing + " " + p.PortText()
	}
	message := "held by " + by.Object
	if by.Lease != (lease.ID{}) {
		message = "held by deployment " + by.Lease.Group().String()
	}
	err := r.Change(func() plan.Change {
		return plan.Change{Action: plan.Withhold, Kind: string(h.Kind), Name: name, Why: message}
	})
	if err != nil {
		return err
	}
	r.Event(report.Withheld, string(h.Kind), "", name, message)
	return nil
}

// Waiting is a withheld part and the note about it.
type Waiting struct {
	Want state.Hold
	Note state.Part
}

// note records a note about a withheld part; Settle writes it.
func (r *Claims) note(h state.Hold, p state.Part) {
	definition, options := "", (*lease.HTTPOptions)(nil)
	if r.Def != nil {
		definition = r.Def.Hash
		if e := r.Def.Routed(h.Thing, p.Path); e != nil {
			options = e.Options()
			if e.Routing != nil {
				definition = "" // a note has no routing rules: an apply must write these routes
			}
		}
	}
	note := p.Wait(definition, options)
	if !slices.ContainsFunc(r.Withheld, func(w Waiting) bool { return w.Note.Key == note.Key }) {
		r.Withheld = append(r.Withheld, Waiting{Want: h, Note: note})
	}
}
