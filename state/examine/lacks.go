package examine

import (
	"slices"

	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease/config"
)

// Lacks says what is not there, or does not answer, of what serves objects of some kinds: a command that writes such an object would
// wait for it. doubts are what may be missing; what could not be read is neither. lacks say how to mend it.
func (s *Seen) Lacks(written []kinds.Kind) (lacks, doubts []string) {
	has := func(of ...kinds.Kind) bool {
		return slices.ContainsFunc(of, func(k kinds.Kind) bool { return slices.Contains(written, k) })
	}
	add := func(of string, lines ...Line) {
		for _, line := range lines {
			switch line.Result {
			case Problem:
				lacks = append(lacks, of+line.Text+"; "+line.Mend)
			case Warning:
				doubts = append(doubts, of+line.Text)
			case OK, Unknown:
			}
		}
	}
	if has(kinds.HTTPRoute, kinds.TLSRoute) {
		add("", s.gatewayServes()...)
	}
	if has(kinds.Route) {
		add("", s.routers()...)
	}
	if has(kinds.Ingress) {
		add("", s.ingresses()...)
	}
	if has(kinds.Service) {
		add("MetalLB: ", s.metallb()...)
		if s.Config.IP.Mode == config.ModePool && s.Pools.Unread == nil {
			if line, missing := s.poolMissing(); missing {
				add("", line)
			}
		}
	}
	return lacks, doubts
}
