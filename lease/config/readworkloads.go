package config

import (
	"net/netip"

	"github.com/akash-net/kubectl-akash-net/lease/document"
)

func readWorkloads(c document.Cursor, w *Workloads) {
	m := c.Mapping(workloadKeys)
	truth(m.Get("enabled"), &w.Enabled)
	truth(m.Get("networkPolicies"), &w.NetworkPolicies)
	truth(m.Get("strictNetworkPolicies"), &w.StrictNetworkPolicies)
	if strict := m.Get("strictNetworkPolicies"); w.StrictNetworkPolicies && !w.NetworkPolicies {
		strict.Errorf("there are no network policies that could be strict; set networkPolicies to true")
	}
	text(m.Get("publicHostname"), &w.PublicHostname, publicName)
	text(m.Get("imagePullSecret"), &w.ImagePullSecret, subdomain)
	for item := range m.Get("apiServers").List() {
		server := item.Text()
		if toldAlready(item, server) {
			continue
		}
		address, err := netip.ParseAddrPort(server)
		if err != nil || address.Port() == 0 || address.Addr().Zone() != "" {
			item.Errorf("%q is not an address with a port, such as 10.1.0.10:6443 or [fd00::12]:443", server)
			continue
		}
		w.APIServers = append(w.APIServers, netip.AddrPortFrom(address.Addr().Unmap(), address.Port()))
	}
}
