package book

import (
	"slices"
	"testing"

	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/state/view"
)

// Each kind is listed once, whatever subjects need it; orders and routes need no more than is listed for them apart.
func TestBookKinds(t *testing.T) {
	for name, tt := range map[string]struct {
		subjects []view.Subject
		has      []kinds.Kind
		none     bool
	}{
		"hosts":            {[]view.Subject{view.SubjectHosts}, []kinds.Kind{kinds.Ingress, kinds.HTTPRoute, kinds.ProviderHost}, false},
		"addresses":        {[]view.Subject{view.SubjectIPs}, []kinds.Kind{kinds.Service, kinds.ProviderLeasedIP, kinds.IPAddressPool}, false},
		"pools and leases": {[]view.Subject{view.SubjectPools, view.SubjectLeases}, []kinds.Kind{kinds.Service, kinds.IPAddressPool, kinds.ProviderHost}, false},
		"DNS records":      {[]view.Subject{view.SubjectDNS}, kinds.Records, false},
		"orders":           {[]view.Subject{view.SubjectOrders}, nil, true},
		"routes":           {[]view.Subject{view.SubjectRoutes}, nil, true},
	} {
		got := bookKinds(tt.subjects)
		for i, k := range got {
			if slices.Contains(got[:i], k) {
				t.Errorf("%s: %s is listed twice", name, k.Kind)
			}
		}
		for _, k := range tt.has {
			if !slices.Contains(got, k) {
				t.Errorf("%s: %s is not listed", name, k.Kind)
			}
		}
		if tt.none && len(got) > 0 {
			t.Errorf("%s: %d kinds are listed", name, len(got))
		}
	}
}

// Only what has the labels of leases is selected by them.
func TestBookSelector(t *testing.T) {
	for kind, want := range map[kinds.Kind]string{
		kinds.Ingress: OfLeases, kinds.TLSRoute: OfLeases, kinds.DNSEndpoint: OfLeases, kinds.Service: kinds.LeasedPort,
		kinds.ProviderHost: "", kinds.IPAddressPool: "",
	} {
		if got := bookSelector(kind); got != want {
			t.Errorf("%s: %q", kind.Kind, got)
		}
	}
}
