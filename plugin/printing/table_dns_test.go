package printing

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akash-net/kubectl-akash-net/lease/dns"
	"github.com/akash-net/kubectl-akash-net/state/view"
)

// The records of hosts in the formats that are made here.
func TestPrintRecords(t *testing.T) {
	shop := testBook().Hosts[0].Tenant
	ago := func(d time.Duration) metav1.Time { return metav1.NewTime(testNow.Add(-d)) }
	book := &view.Book{APIVersion: "net.akash.network/v1alpha1", Kind: "Book", DNS: []view.DNSRow{
		{Host: "api.example.com", Name: "api.example.com", Type: dns.A, Values: []string{"192.0.2.1", "192.0.2.2", "192.0.2.3", "192.0.2.4"}, TTL: 300, Zone: "Z1", Tenant: shop, Kind: "dnsrecord", Object: "api.example.com-a", LastOperation: "Reconcile Succeeded", State: view.StateActive, Since: ago(time.Hour)},
		{Host: "api.example.com", Name: "_akash-net.api.example.com", Type: dns.TXT, Values: []string{"heritage=akash-net"}, TTL: 300, Zone: "Z1", Tenant: shop, Kind: "dnsrecord", Object: "api.example.com-txt", LastOperation: "Create Error", State: view.StateFailed, Since: ago(time.Hour), Message: "no such zone"},
		{Host: "shop.example.com", Name: "shop.example.com", Type: dns.CNAME, Values: []string{"lb.example.net"}, Tenant: shop, Kind: "dnsendpoint", Object: "shop.example.com", State: view.StatePending, Since: ago(time.Second)},
	}}
	for name, output := range map[string]string{"table": "", "wide": "wide", "name": "name", "json": "json"} {
		f := NewFlags()
		f.Output = output
		golden(t, "dns/"+name, printBook(t, f, []view.Subject{view.SubjectDNS}, book))
	}
}
