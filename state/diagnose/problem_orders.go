package diagnose

import (
	"cmp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akash-net/kubectl-akash-net/state"
)

// checkReservations finds expired reservations, unreadable ones, and those for which the room is gone.
func (p *problems) checkReservations() {
	for _, c := range p.Contents.Reservations {
		drop := state.DropFromLedger{Object: state.ObjectRef{
			Kind: "lease", Namespace: p.Config.LedgerNamespace, Name: c.ObjectName,
			UID: string(c.UID), ResourceVersion: c.ResourceVersion,
		}}
		x := state.Problem{Thing: "order/" + c.Order.String(), Since: metav1.NewTime(c.Created)}
		switch {
		case c.Deleting:
		case c.Unreadable != "":
			x.Thing = c.ObjectName
			means := "what cannot be read of it takes no room, and its order cannot reserve: "
			if !state.IsReservation(c.ObjectName) {
				means = "nobody can claim what has its name: "
			}
			p.add(fill(x, state.UnreadableClaim, means+c.Unreadable, "look who wrote it, and delete it", drop).ByName())
		case c.Over(p.Now):
			by := cmp.Or(c.Part().By, "nobody that is known")
			p.add(fill(x, state.HoldEnded, "what it has reserved has expired; it was reserved by "+by,
				"give up the reservation", drop))
		case p.Lost[c.ObjectName]:
			x = fill(x, state.RoomGone, "the cluster no longer has room for what it has reserved: "+
				"a node or a storage class is gone, closed or smaller, or an address range is",
				"reserve again when there is room, or give up what a bid that was lost has reserved: kubectl akash-net unreserve --order "+
					c.Order.String(), nil)
			x.Manual, x.Command = true, "kubectl akash-net reserve --order "+c.Order.String()+" -f FILE"
			p.add(x)
		}
	}
}
