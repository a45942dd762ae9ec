package printing

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akash-net/kubectl-akash-net/plugin/terminal"
	"github.com/akash-net/kubectl-akash-net/state/view"
)

// leases are the rows of leases. What they run has columns of its own where it was asked for.
func (t *tables) leases(rows []view.LeaseRow, workloads bool) *metav1.Table {
	columns := []string{"Owner", "DSeq", "GSeq", "OSeq", "Hosts", "Addresses", "State", "Age"}
	if workloads {
		columns = append(columns, "Workloads", "Ready")
	}
	table := NewTable(columns...).Wide("Provider", "Namespace", "Since", "Host-Names")
	for _, r := range rows {
		cells := []any{
			t.owner(r.Owner), number(r.DSeq), number(r.GSeq), number(r.OSeq), len(r.Hosts), some(r.Addresses), terminal.Dash(r.State), t.age(r.Since),
		}
		message := ""
		if workloads {
			runs, ready := "-", "-"
			if w := r.Workloads; w != nil {
				runs, ready, message = string(w.State), fmt.Sprintf("%d/%d", w.Ready, w.Total), w.Reason
			}
			cells = append(cells, runs, ready)
		}
		table.Row(message, append(cells, terminal.Dash(r.Provider), terminal.Dash(r.Namespace), moment(r.Since), some(r.Hosts))...)
	}
	return table.Done()
}
