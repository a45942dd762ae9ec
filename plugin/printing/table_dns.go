package printing

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akash-net/kubectl-akash-net/plugin/terminal"
	"github.com/akash-net/kubectl-akash-net/state/view"
)

func (t *tables) records(rows []view.DNSRow) *metav1.Table {
	table := NewTable("Host", "Type", "Values", "TTL", "Zone", "Last-Operation", "State", "Age").
		Wide("Name", "Owner", "DSeq", "Namespace", "Object", "Since")
	for _, r := range rows {
		ttl := "-"
		if r.TTL > 0 {
			ttl = number(uint64(r.TTL))
		}
		table.Row(r.Message,
			r.Host, string(r.Type), some(r.Values), ttl, terminal.Dash(r.Zone), terminal.Dash(r.LastOperation), r.State, t.age(r.Since),
			r.Name, terminal.Dash(r.Owner), number(r.DSeq), terminal.Dash(r.Namespace), r.Kind+"/"+r.Object, moment(r.Since))
	}
	return table.Done()
}
