package examine

import (
	"strings"
	"testing"

	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease/config"
)

// A dry run says what nobody serves of the kinds that it writes; nothing of other kinds, and nothing that could not be read.
func TestLacks(t *testing.T) {
	gateway := func(s *Seen) { s.Config.Target = config.TargetHTTPRoute }
	const noGateway = "there is no Gateway akash-gateway/akash-gateway; create it, or configure gateway.name and gateway.namespace"
	for name, tt := range map[string]struct {
		with          func(*Seen)
		written       []kinds.Kind
		lacks, doubts string
	}{
		"all is there":               {written: []kinds.Kind{kinds.Ingress, kinds.Service}},
		"no Gateway":                 {gateway, []kinds.Kind{kinds.Ingress, kinds.HTTPRoute, kinds.HTTPRoute}, noGateway, ""},
		"no Gateway for passthrough": {gateway, []kinds.Kind{kinds.TLSRoute}, noGateway, ""},
		"no Gateway, and no route":   {gateway, []kinds.Kind{kinds.Ingress}, "", ""},
		"a Gateway that is not read": {func(s *Seen) { gateway(s); s.Gateway = refused[Object]("get", "gateways") }, []kinds.Kind{kinds.HTTPRoute}, "", ""},
		"no IngressClass":            {func(s *Seen) { s.IngressClasses.Value = nil }, []kinds.Kind{kinds.Ingress}, "there is no IngressClass akash-ingress-class (ingress.className), nor another one; install its ingress controller, or configure another ingress.className", ""},
		"a router that was not seen": {nil, []kinds.Kind{kinds.Route}, "", "Routes are served, and no IngressController of OpenShift was seen"},
		"no pool of that name":       {func(s *Seen) { s.Config.IP.Mode, s.Config.IP.Pool = config.ModePool, "x" }, []kinds.Kind{kinds.Service}, "there is no IPAddressPool metallb-system/x (ip.pool)", ""},
		"no MetalLB":                 {func(s *Seen) { s.Served = nil; s.Config.IP.Mode = config.ModePool }, []kinds.Kind{kinds.Service}, "MetalLB: ipaddresspools.metallb.io is not installed; install MetalLB (https://metallb.io)", ""},
		"a deprecated prefix is there": {func(s *Seen) {
			leasing(s)
			s.serve(kinds.IPAddressPool.GroupVersion(), "servicebgpstatuses")
		}, []kinds.Kind{kinds.Service}, "", ""},
		"no MetalLB, and no Services": {func(s *Seen) { s.Served = nil }, []kinds.Kind{kinds.Ingress}, "", ""},
		"a MetalLB that was not seen": {func(s *Seen) { s.MetalLB.Value, s.Pools.Value = nil, nil }, []kinds.Kind{kinds.Service}, "", "MetalLB: its resource definitions are installed; no Deployment of its controller was seen in namespace metallb-system"},
	} {
		s := healthy()
		if tt.with != nil {
			tt.with(s)
		}
		lacks, doubts := s.Lacks(tt.written)
		if got := strings.Join(lacks, "|"); !strings.HasPrefix(got, tt.lacks) || tt.lacks == "" && got != "" {
			t.Errorf("%s: it lacks %q, want %q", name, got, tt.lacks)
		}
		if got := strings.Join(doubts, "|"); got != tt.doubts {
			t.Errorf("%s: the doubts are %q, want %q", name, got, tt.doubts)
		}
	}
}
