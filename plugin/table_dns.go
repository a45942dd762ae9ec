package plugin

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akash-net/kubectl-akash-net/state/view"
)

func (t *tables) records(rows []view.DNSRow) *metav1.Table {
	table := newTable("Host", "Type", "Values", "TTL", "Zone", "Last-Operation", "State", "Age").
		wide("Name", "Owner", "DSeq", "Namespace", "Object", "Since")
	for _, r := range rows {
		ttl := "-"
		if r.TTL > 0 {
			ttl = number(uint64(r.TTL))
		}
		table.row(r.Message,
			r.Host, string(r.Type), some(r.Values), ttl, dash(r.Zone), dash(r.LastOperation), r.State, t.age(r.Since),
			r.Name, dash(r.Owner), number(r.DSeq), dash(r.Namespace), r.Kind+"/"+r.Object, moment(r.Since))
	}
	return table.done()
}
