package examine

import (
	"fmt"
	"testing"

	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/test/golden"
)

// A dry run says what nobody serves of the kinds that it writes; nothing of other kinds, and nothing that could not be read.
func TestLacks(t *testing.T) {
	gateway := func(s *Seen) { s.Config.Target = config.TargetHTTPRoute }
	got := golden.Cases{}
	for name, tt := range map[string]struct {
		with    func(*Seen)
		written []kinds.Kind
	}{
		"all is there":               {nil, []kinds.Kind{kinds.Ingress, kinds.Service}},
		"no Gateway":                 {gateway, []kinds.Kind{kinds.Ingress, kinds.HTTPRoute, kinds.HTTPRoute}},
		"no Gateway for passthrough": {gateway, []kinds.Kind{kinds.TLSRoute}},
		"no Gateway, and no route":   {gateway, []kinds.Kind{kinds.Ingress}},
		"a Gateway that is not read": {func(s *Seen) { gateway(s); s.Gateway = refused[Object]("get", "gateways") }, []kinds.Kind{kinds.HTTPRoute}},
		"no IngressClass":            {func(s *Seen) { s.IngressClasses.Value = nil }, []kinds.Kind{kinds.Ingress}},
		"a router that was not seen": {nil, []kinds.Kind{kinds.Route}},
		"no pool of that name":       {func(s *Seen) { s.Config.IP.Mode, s.Config.IP.Pool = config.ModePool, "x" }, []kinds.Kind{kinds.Service}},
		"no MetalLB":                 {func(s *Seen) { s.Served = nil; s.Config.IP.Mode = config.ModePool }, []kinds.Kind{kinds.Service}},
		"a deprecated prefix is there": {func(s *Seen) {
			leasing(s)
			s.serve(kinds.IPAddressPool.GroupVersion(), "servicebgpstatuses")
		}, []kinds.Kind{kinds.Service}},
		"no MetalLB, and no Services": {func(s *Seen) { s.Served = nil }, []kinds.Kind{kinds.Ingress}},
		"a MetalLB that was not seen": {func(s *Seen) { s.MetalLB.Value, s.Pools.Value = nil, nil }, []kinds.Kind{kinds.Service}},
	} {
		s := healthy()
		if tt.with != nil {
			tt.with(s)
		}
		lacks, doubts := s.Lacks(tt.written)
		got[name] = fmt.Sprintf("it lacks %q\nthe doubts are %q\n", lacks, doubts)
	}
	got.Check(t, "testdata/TestLacks.golden")
}
