package lease

import "fmt"

// Unrouted returns the hosts that are claimed but not served: the HTTP router does not reach their port, and no IP
// endpoint has it. The usual cause is an SDL with "as: 8000" instead of "as: 80".
func (d *Definition) Unrouted() []Host {
	var hosts []Host
	for _, s := range d.Services {
		for _, e := range s.Expose {
			if !e.IsIngress() && e.IP == "" {
				hosts = append(hosts, e.Hosts...)
			}
		}
	}
	return hosts
}

// Warnings returns the warnings about a definition that do not depend on the provider.
func Warnings(d *Definition) Problems {
	var problems Problems
	for _, s := range d.Services {
		for _, e := range s.Expose {
			if e.IsIngress() || e.IP != "" {
				continue
			}
			for _, h := range e.Hosts {
				problems.Warn(h.At, "host %q is claimed, but not routed over HTTP: %s; %s", h.Name, e.whyUnrouted(s.Name), e.howRouted())
			}
		}
	}
	return problems
}

func (e Expose) whyUnrouted(service string) string {
	switch {
	case !e.Global:
		return fmt.Sprintf("service %s does not expose port %d to the outside", service, e.Port)
	case e.Protocol != TCP:
		return fmt.Sprintf("service %s exposes port %d over %s", service, e.Port, e.Protocol)
	}
	return fmt.Sprintf("service %s exposes port %d as %d, and only 80 is routed", service, e.Port, e.ExternalPort())
}

func (e Expose) howRouted() string {
	switch {
	case !e.Global:
		return `write "as: 80" and let it be global`
	case e.Protocol != TCP:
		return `write "as: 80" and protocol TCP`
	}
	return `write "as: 80"`
}
