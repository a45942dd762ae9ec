package apply

import (
	"slices"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/plan"
	"github.com/akash-net/kubectl-akash-net/state"
)

// withhold records, and reports once, that another deployment of the owner, or an object of it, has a
// part. The error is a MovedError where the plan that is carried out expects to claim it.
func (r *claims) withhold(h state.Hold, p state.Part, by state.Holder) error {
	r.note(h, p)
	var name string
	if !h.Kind.HasPorts() {
		name = lease.HostPath(h.Thing, p.Path)
		if r.withheldHosts[name] {
			return nil
		}
		r.withheldHosts[name] = true
	} else {
		protocol, port := p.ProtocolPort()
		leasedIP := lease.LeasedIPName(h.SharingKey, protocol, port)
		if r.withheldPorts[leasedIP] {
			return nil
		}
		r.withheldPorts[leasedIP] = true
		name = h.Thing + " " + p.PortText()
	}
	message := "held by " + by.Object
	if by.Lease != (lease.ID{}) {
		message = "held by deployment " + by.Lease.Group().String()
	}
	err := r.change(func() plan.Change {
		return plan.Change{Action: plan.Withhold, Kind: string(h.Kind), Name: name, Why: message}
	})
	if err != nil {
		return err
	}
	r.event(Withheld, string(h.Kind), "", name, message)
	return nil
}

// waiting is a part that is withheld and the note that says so.
type waiting struct {
	want state.Hold
	note state.Part
}

// note remembers what is withheld; settle writes it down.
func (r *claims) note(h state.Hold, p state.Part) {
	definition, options := "", (*lease.HTTPOptions)(nil)
	if r.def != nil {
		definition = r.def.Hash
		if e := r.def.Routed(h.Thing, p.Path); e != nil {
			options = e.Options()
			if e.Routing != nil {
				definition = "" // a note says less than its routes need: they follow with an apply
			}
		}
	}
	note := p.Wait(definition, options)
	if !slices.ContainsFunc(r.withheld, func(w waiting) bool { return w.note.Key == note.Key }) {
		r.withheld = append(r.withheld, waiting{want: h, note: note})
	}
}
