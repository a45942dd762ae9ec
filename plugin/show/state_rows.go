package show

import (
	"fmt"

	"github.com/akash-net/kubectl-akash-net/plugin/console"
	"github.com/akash-net/kubectl-akash-net/state/view"
)

// filter keeps the rows that --selector, --namespace, --shard and names choose.
func (f *stateFlags) filter(book *view.Book) {
	if !f.matches.Empty() || f.namespace != "" {
		book.Select(f.matches, f.namespace)
	}
	if f.shard != "" {
		book.SelectShard(f.shard)
	}
	f.choose(book)
}

// nothing says of a subject that its table would be empty.
var nothing = map[view.Subject]string{
	view.SubjectHosts:  "No hosts held.",
	view.SubjectIPs:    "No addresses leased.",
	view.SubjectLeases: "No leases hold anything.",
	view.SubjectPools:  "No pools.",
	view.SubjectRoutes: "No routes.",
	view.SubjectDNS:    "No DNS records.",

	view.SubjectResources: "No resources.",
	view.SubjectOrders:    "No orders have reserved anything.",
}

// tellEmpty says that there is nothing to show, where people look for rows.
func (f *stateFlags) tellEmpty(c *console.Console, book *view.Book) {
	switch {
	case !book.Empty() || !f.print.IsTable() || len(f.things) > 0:
	case len(f.subjects) == 1:
		fmt.Fprintln(c.ErrOut, nothing[f.subjects[0]])
	default:
		fmt.Fprintln(c.ErrOut, "Nothing is held.")
	}
}
