package config

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/document"
)

func readWorkloads(c document.Cursor, w *Workloads) {
	m := c.Mapping(workloadKeys)
	boolean(m.Get("enabled"), &w.Enabled)
	boolean(m.Get("networkPolicies"), &w.NetworkPolicies)
	boolean(m.Get("strictNetworkPolicies"), &w.StrictNetworkPolicies)
	if strict := m.Get("strictNetworkPolicies"); w.StrictNetworkPolicies && !w.NetworkPolicies {
		strict.Errorf("there are no network policies that could be strict; set networkPolicies to true")
	}
	text(m.Get("publicHostname"), &w.PublicHostname, publicName)
	text(m.Get("imagePullSecret"), &w.ImagePullSecret, subdomain)
	for item, server := range texts(m.Get("apiServers")) {
		address, err := netip.ParseAddrPort(server)
		if err != nil || address.Port() == 0 || address.Addr().Zone() != "" {
			item.Errorf("%q is not an address with a port, such as 10.1.0.10:6443 or [fd00::12]:443", server)
			continue
		}
		w.APIServers = append(w.APIServers, netip.AddrPortFrom(address.Addr().Unmap(), address.Port()))
	}
	readPorts(m.Get("nodePorts"), &w.NodePorts)
}

// readPorts reads a range of ports in the format of kube-apiserver's --service-node-port-range.
func readPorts(c document.Cursor, r *PortRange) {
	var written string
	text(c, &written, func(s string) error {
		first, last, _ := strings.Cut(s, "-")
		from, errFrom := strconv.ParseUint(first, 10, 16)
		to, errTo := strconv.ParseUint(last, 10, 16)
		if errFrom != nil || errTo != nil || from == 0 || from > to {
			return fmt.Errorf("%q is not a range of ports, such as 30000-32767", lease.Clip(s))
		}
		*r = PortRange{uint16(from), uint16(to)}
		return nil
	})
}
