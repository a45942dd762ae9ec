package diagnose

import (
	"cmp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akash-net/kubectl-akash-net/state"
)

// checkReservations finds expired reservations and unreadable ones.
func (p *problems) checkReservations() {
	for _, c := range p.Contents.Reservations {
		drop := state.DropReservation{Reservation: state.ObjectRef{
			Kind: "lease", Namespace: p.Config.LedgerNamespace, Name: c.ObjectName,
			UID: string(c.UID), ResourceVersion: c.ResourceVersion,
		}}
		x := state.Problem{Thing: "order/" + c.Order.String(), Since: metav1.NewTime(c.Created)}
		switch {
		case c.Deleting:
		case c.Unreadable != "":
			x.Thing = c.ObjectName
			p.add(fill(x, state.UnreadableClaim,
				"what cannot be read of it takes no room, and its order cannot reserve: "+c.Unreadable, "look who wrote it, and delete it", drop).ByName())
		case c.Over(p.Now):
			by := cmp.Or(c.Part().By, "nobody that is known")
			p.add(fill(x, state.HoldEnded, "what it has reserved has expired; it was reserved by "+by,
				"give up the reservation", drop))
		}
	}
}
