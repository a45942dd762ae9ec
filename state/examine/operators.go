package examine

import (
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/manifests"
	"github.com/akash-net/kubectl-akash-net/state"
)

// besideOperators is the page about what follows from Akash's operators.
const besideOperators = "docs/akash-operators.md"

// operators checks Akash's provider and its operators.
func (s *Seen) operators() []Line {
	namespace := s.Namespaces[manifests.OperatorsNamespace]
	switch {
	case namespace.Unread == nil && namespace.Value == nil:
		return []Line{ok("there is no namespace %s: none of Akash's operators runs, and this program writes routes and Services", manifests.OperatorsNamespace)}
	case s.Operators.Unread != nil:
		line := s.unknown(s.Operators.Unread)
		line.Text = "whether Akash's operators run is not known: " + line.Text
		return []Line{line}
	}
	var lines []Line
	runs := func(names ...string) Object {
		i := slices.IndexFunc(s.Operators.Value, func(o Object) bool { return slices.Contains(names, o.GetName()) && replicas(o) > 0 })
		if i < 0 {
			return nil
		}
		if o := s.Operators.Value[i]; !isReady(o) {
			lines = append(lines, warning("kubectl -n "+o.GetNamespace()+" describe "+lower(o)+" "+o.GetName(), "%s %s has no ready pod", lower(o), o.GetName()))
		}
		return s.Operators.Value[i]
	}
	if o := runs(manifests.HostnameOperators...); o != nil {
		lines = append(lines, s.hostnameOperator(o))
	}
	if o := runs(manifests.IPOperators...); o != nil {
		lines = append(lines, s.ipOperator(o))
	}
	if o := runs("akash-provider"); o != nil {
		lines = append(lines, ok("Akash's provider runs (%s %s): it declares hosts and ports of leases too, and its objects are not changed (%s)", lower(o), o.GetName(), besideOperators))
	}
	if len(lines) == 0 {
		return []Line{ok("none of Akash's operators runs in namespace %s: this program writes routes and Services", manifests.OperatorsNamespace)}
	}
	return lines
}

func (s *Seen) hostnameOperator(o Object) Line {
	if s.Config.DNS.Form == config.DNSAnnotations {
		return problem("configure dns.form endpoint, or stop the operator: "+manifests.StopOperator(o.GetName()),
			"Akash's hostname operator runs (%s), and knows no annotations for external-dns (dns.form): apply is refused", o.GetName())
	}
	return ok("Akash's hostname operator runs (%s): apply leaves the routes that it supports to it (%s)", o.GetName(), besideOperators)
}

func (s *Seen) ipOperator(o Object) Line {
	if s.Config.IP.Mode != config.ModePool {
		return problem("configure ip.mode pool, or stop the operator: "+manifests.StopOperator(o.GetName()),
			"Akash's IP operator runs (%s), and lets MetalLB choose the addresses: apply of leased ports is refused with ip.mode %s", o.GetName(), s.Config.IP.Mode)
	}
	return ok("Akash's IP operator runs (%s): apply leaves the Services of leased ports to it (%s)", o.GetName(), besideOperators)
}

// replicas returns how many pods a Deployment or a StatefulSet is to have; one if it does not say.
func replicas(o Object) int64 {
	if n, set, _ := unstructured.NestedInt64(o.Object, "spec", "replicas"); set {
		return n
	}
	return 1
}

func isReady(o Object) bool {
	n, _, _ := unstructured.NestedInt64(o.Object, "status", "readyReplicas")
	return n > 0
}

// reconciler checks whether a reconciler works, if one was installed or has been elected before.
func (s *Seen) reconciler() []Line {
	var lines, unread []Line
	for _, o := range s.Elections.Value {
		if line, elects := election(o, s.Now); elects {
			lines = append(lines, line)
		}
	}
	for _, u := range []*Unread{s.Elections.Unread, s.Reconciler.Unread} {
		if u != nil {
			unread = append(unread, s.unknown(u))
		}
	}
	switch deployment := s.Reconciler.Value; {
	case len(lines) > 0:
		return lines
	case len(unread) > 0:
		return unread[:1]
	case deployment == nil:
		return []Line{ok("none is installed; nothing needs one")}
	case replicas(deployment) == 0:
		return []Line{ok("it is scaled to 0; nothing needs one")}
	default:
		return []Line{problem("kubectl -n "+deployment.GetNamespace()+" logs deployment/"+deployment.GetName(),
			"it is installed, and none is elected: nothing is put back")}
	}
}

// longest is more than any reconciler is elected for at a time.
const longest = time.Minute

// election returns who holds the Lease of an election, since when, and for which sources. elects is false if nobody has renewed it in time.
func election(o Object, now time.Time) (line Line, elects bool) {
	holder, of := text(o, "spec", "holderIdentity"), o.GetLabels()[state.LabelInstance]
	renewed, err := time.Parse(time.RFC3339Nano, text(o, "spec", "renewTime"))
	seconds, _, _ := unstructured.NestedInt64(o.Object, "spec", "leaseDurationSeconds")
	over := renewed.Add(time.Duration(min(seconds, int64(longest/time.Second)*2)) * time.Second)
	switch {
	case err != nil || holder == "":
		return line, false
	case seconds > int64(longest/time.Second) || renewed.After(now.Add(longest)):
		return problem("kubectl -n "+o.GetNamespace()+" delete lease.coordination.k8s.io "+o.GetName(),
			"lease %s says that %s is elected for %d seconds from %s: no reconciler writes that, and none is elected until then", o.GetName(), holder, seconds,
			renewed.UTC().Format(time.RFC3339)), true
	case now.After(over):
		return line, false
	}
	since, _, _ := strings.Cut(text(o, "spec", "acquireTime"), ".")
	line = ok("%s is elected since %sZ", holder, strings.TrimSuffix(since, "Z"))
	if of != "" {
		line.Text += ", for " + of
	}
	return line, true
}
