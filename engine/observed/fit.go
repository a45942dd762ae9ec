package observed

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/engine/report"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/manifests"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
)

// Fits refuses, before anything is claimed, what Akash's operators would stop at or overwrite. The hostname operator
// looks a ProviderHost's lease, service and port up in the lease's Manifest, and ignores the lease for good after three
// failures (provider: operator/hostname, event-failure-limit). The IP operator creates Services that ask for no
// address.
func (s *Snapshot) Fits(cfg *config.ProviderConfig, def *lease.Definition, req state.Request) error {
	w := wish{s, cfg, req}
	if err := w.checkIPOperator(); err != nil || !s.Operators.Hostname {
		return err
	}
	if cfg.DNS.Form == config.DNSAnnotations {
		return w.unfit(def.At, "Akash's hostname operator makes its routes, and knows no annotations for external-dns (dns.form: annotations); "+
			"dns.form endpoint works beside it")
	}
	for _, service := range def.Services {
		for _, e := range service.Expose {
			if err := w.checkHostnameOperator(&service, e); err != nil {
				return err
			}
		}
	}
	return nil
}

// wish is what a lease asks for, where it is asked.
type wish struct {
	snapshot *Snapshot
	cfg      *config.ProviderConfig
	request  state.Request
}

func (w wish) unfit(at lease.Place, format string, args ...any) error {
	return &report.OperatorError{Lease: w.request.Lease, At: at, Why: fmt.Sprintf(format, args...)}
}

// checkIPOperator refuses leased ports for which the IP operator would write other Services.
func (w wish) checkIPOperator() error {
	switch {
	case !w.snapshot.Operators.IP || len(w.request.Endpoints) == 0:
		return nil
	case w.cfg.IP.Mode != config.ModePool:
		return w.unfit(w.request.Endpoints[0].At, "Akash's IP operator lets MetalLB choose the addresses, which goes with ip.mode %q only and not with %q: "+
			"set ip.mode to %q, or stop the operator (%s)", config.ModePool, w.cfg.IP.Mode, config.ModePool, manifests.StopOperator(manifests.IPOperators[0]))
	case w.snapshot.Operators.Off:
		return w.unfit(w.request.Endpoints[0].At, "--operators=off, but Akash's IP operator runs, and writes its own Services over those of this program: "+
			"leave --operators=off out, or stop the operator (%s)", manifests.StopOperator(manifests.IPOperators[0]))
	}
	return nil
}

// checkHostnameOperator refuses a root host that the hostname operator would not route, or would route differently.
func (w wish) checkHostnameOperator(s *lease.Service, e lease.Expose) error {
	if e.IsIngress() && e.Routing != nil && w.known(e) {
		return w.unfit(e.At, "Akash's hostname operator makes plain routes of root hosts: "+
			"it does not know TLS, weights, header rules, sticky sessions, settings and labels")
	}
	hosts := len(e.Hosts) > 0 || len(w.cfg.OwnHosts(w.request.Lease, s)) > 0
	if !e.IsIngress() || !hosts || e.RoutePath() != "/" {
		return nil
	}
	if w.snapshot.Operators.Off && w.known(e) {
		return w.unfit(e.At, "--operators=off, but Akash's hostname operator runs, and writes its own route of %s over that of this program: "+
			"leave --operators=off out, or stop the operator (%s)", s.Name, manifests.StopOperator(manifests.HostnameOperators[0]))
	}
	switch sent := w.snapshot.Manifests; {
	case sent[w.request.Lease.Namespace()] == nil:
		return w.unfit(e.At, "it has no Manifest in namespace %s, and Akash's hostname operator would ignore the lease from then on: "+
			"apply again when the tenant has sent the manifest", w.cfg.ManifestNamespace)
	case sent.Lacks(w.request.Lease, s.Name, e.ExternalPort()) != "":
		return w.unfit(e.At, "its Manifest has no service %s with instances and a global port %d, and Akash's hostname operator would ignore the lease from then on: "+
			"apply what the tenant has deployed", s.Name, e.ExternalPort())
	}
	return nil
}

// known reports whether the hostname operator knows a host of the expose.
func (w wish) known(e lease.Expose) bool {
	return e.RoutePath() == "/" && (w.cfg.Ingress.StaticHosts ||
		slices.ContainsFunc(e.Hosts, func(h lease.Host) bool { return !strings.HasPrefix(h.Name, "*.") }))
}

// WaitingFor describes the operator that has to create an object.
func WaitingFor(o render.Object) string {
	if o.Kind == kinds.Service {
		return fmt.Sprintf("Akash's IP operator to write service %s in namespace %s as the lease's claim says "+
			"(see: kubectl -n %s logs deploy/operator-ip)", o.Name, o.Namespace, manifests.OperatorsNamespace)
	}
	backend := ""
	for _, u := range state.HostUses(render.Look(o)) {
		backend = fmt.Sprintf(" to %s:%d", u.Service, u.Port)
	}
	return fmt.Sprintf("Akash's hostname operator to route %s%s in namespace %s "+
		"(see: kubectl -n %s logs deploy/operator-hostname, and its /ignore-list)", o.Name, backend, o.Namespace, manifests.OperatorsNamespace)
}

// OtherProtocol explains that the IP operator serves the same port number of the endpoint for a deployment other than
// group, which has the other protocol, or returns "".
func (s *Snapshot) OtherProtocol(group lease.Group, o render.Object) string {
	if o.Kind != kinds.Service {
		return ""
	}
	want := state.ServiceObjectOf(render.Look(o))
	protocol, port := state.Part{Key: state.OtherProtocol(state.PortKey(want.Protocol, want.Port))}.ProtocolPort()
	other, found := s.port(lease.LeasedIPName(want.SharingKey, protocol, port))
	if !found || !other.HasLease || other.Lease.Group() == group {
		return ""
	}
	return fmt.Sprintf(". It serves one protocol of a port, and providerleasedip %s/%s declares the other for %s: one of the two gives the port up",
		other.Namespace, other.Name, other.Lease.Group())
}

// Agrees reports whether an operator's live object serves what the rendered one of the lease would: the same host or
// port, from the same backend, with the HTTP options that the operator knows.
func (s *Snapshot) Agrees(def *lease.Definition, id lease.ID, o render.Object, live *unstructured.Unstructured) bool {
	if live == nil || live.GetDeletionTimestamp() != nil {
		return false
	}
	want := render.Look(o)
	if o.Kind == kinds.Service {
		a, b := state.ServiceObjectOf(want), state.ServiceObjectOf(live)
		return a.Service == b.Service && a.Port == b.Port && a.Protocol == b.Protocol &&
			a.ContainerPort == b.ContainerPort && a.SharingKey == b.SharingKey
	}
	wanted := state.HostUses(want)
	return slices.ContainsFunc(state.HostUses(live), func(u state.Use) bool {
		return len(wanted) > 0 && u.Host == wanted[0].Host && u.Service == wanted[0].Service && u.Port == wanted[0].Port && u.Of(id.Group())
	}) && s.caughtUp(def, id, o, live)
}

// The hostname operator takes the HTTP options of a route from the lease's Manifest, whatever a definition says
// (provider: operator/hostname, buildDirective).

// options returns the HTTP options that the definition and the lease's Manifest have for a rendered route of the hostname
// operator's. ok is false if one of them does not know the route.
func (s *Snapshot) options(def *lease.Definition, id lease.ID, o render.Object) (wanted, given lease.HTTPOptions, ok bool) {
	uses := state.HostUses(render.Look(o))
	if def == nil || o.Kind == kinds.Service || len(uses) == 0 {
		return wanted, given, false
	}
	port := s.Manifests.Port(id, uses[0].Service, uses[0].Port)
	if port == nil {
		return wanted, given, false
	}
	for _, service := range def.Services {
		for _, e := range service.Expose {
			if service.Name == uses[0].Service && e.IsIngress() && e.RoutePath() == "/" && e.ExternalPort() == uses[0].Port {
				return e.HTTP.WithDefaults(), manifestOptions(port), true
			}
		}
	}
	return wanted, given, false
}

// UnlikeOf says which HTTP options the hostname operator gives a rendered route of the lease instead of those of the
// definition, which is nil if there is none, or returns "".
func (s *Snapshot) UnlikeOf(def *lease.Definition, id lease.ID, o render.Object) string {
	wanted, given, ok := s.options(def, id, o)
	if !ok {
		return ""
	}
	differs := differences(render.OptionsOf(o.Kind, wanted), render.OptionsOf(o.Kind, given))
	if differs == "" {
		return ""
	}
	return "Akash's hostname operator takes the HTTP options from the lease's Manifest: " + differs
}

// caughtUp reports whether the operator's live route has the HTTP options of the definition, or never will because the
// Manifest has others. Newer operators write some of them elsewhere.
func (s *Snapshot) caughtUp(def *lease.Definition, id lease.ID, o render.Object, live *unstructured.Unstructured) bool {
	wanted, _, ok := s.options(def, id, o)
	return !ok || s.UnlikeOf(def, id, o) != "" || Unlike(live, wanted) == ""
}

// Unlike says which HTTP options a live route has instead of the wanted ones, or returns "".
func Unlike(live *unstructured.Unstructured, wanted lease.HTTPOptions) string {
	return differences(render.OptionsOf(kinds.Of(live.GetKind()), wanted.WithDefaults()), live.GetAnnotations())
}

// differences describes the annotations that have other values than the wanted ones.
func differences(wanted, has map[string]string) string {
	var texts []string
	for _, key := range slices.Sorted(maps.Keys(wanted)) {
		if is, there := has[key]; there && is != wanted[key] {
			_, name, _ := strings.Cut(key, "/")
			texts = append(texts, fmt.Sprintf("%s is %q, the definition says %q", name, is, wanted[key]))
		}
	}
	return strings.Join(texts, "; ")
}

// manifestOptions reads the HTTP options of a port in a Manifest. Without a body size, in Manifests of old versions, the
// operator uses defaults of its own.
func manifestOptions(port map[string]any) lease.HTTPOptions {
	of, _, _ := unstructured.NestedMap(port, "http_options")
	number := func(name string) int64 { n, _ := of[name].(int64); return n }
	if number("max_body_size") == 0 {
		return lease.HTTPOptions{NextTimeout: time.Minute}.WithDefaults()
	}
	cases, _, _ := unstructured.NestedStringSlice(of, "next_cases")
	millis := func(name string) time.Duration { return time.Duration(number(name)) * time.Millisecond }
	return lease.HTTPOptions{
		MaxBodySize: uint32(number("max_body_size")), ReadTimeout: millis("read_timeout"), SendTimeout: millis("send_timeout"),
		NextTries: uint32(number("next_tries")), NextTimeout: millis("next_timeout"), NextCases: cases,
	}
}
