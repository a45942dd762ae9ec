package diagnose

import (
	"cmp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akash-net/kubectl-akash-net/state"
)

// checkReservations finds expired reservations and unreadable ones. While one is unreadable, no order can reserve
// anything.
func (p *problems) checkReservations() {
	for _, c := range p.Contents.Reservations {
		at := state.ObjectRef{Kind: "lease", Namespace: p.Config.LedgerNamespace, Name: c.ObjectName, UID: string(c.UID), ResourceVersion: c.ResourceVersion}
		x := state.Problem{Thing: "order/" + c.Order.String(), Since: metav1.NewTime(c.Created)}
		switch {
		case c.Deleting:
		case c.Unreadable != "":
			x.Thing = c.ObjectName
			x.Problem, x.Message = state.UnreadableClaim, "nobody knows what it reserves, so no order can reserve anything: "+c.Unreadable
			x.Plan, x.Mend = "delete it", state.DropReservation{Reservation: at}
			p.add(x.ByName())
		case c.Over(p.Now):
			by := cmp.Or(c.Part().By, "nobody that is known")
			x.Problem, x.Message = state.HoldEnded, "what it has reserved has expired; it was reserved by "+by
			x.Plan, x.Mend = "give up the reservation", state.DropReservation{Reservation: at}
			p.add(x)
		}
	}
}
