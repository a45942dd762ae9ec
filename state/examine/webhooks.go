package examine

import (
	"cmp"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/state"
)

// hook is a webhook that refuses writes of this program when it does not answer.
type hook struct {
	configuration Object
	name          string
	// backend is its Service, NAMESPACE/NAME; "" for a URL.
	backend string
	// of are the resources that it judges and this program writes.
	of []string
}

// BackendsToRead returns the Services, NAMESPACE/NAME, of the webhooks that judge what this program writes and refuse it when they do
// not answer, each once.
func (s *Seen) BackendsToRead() (out []string) {
	for _, h := range s.hooks() {
		if h.backend != "" && !slices.Contains(out, h.backend) {
			out = append(out, h.backend)
		}
	}
	return out
}

// hooks returns the webhooks with failurePolicy Fail, which is the default, that judge what this program writes. Which namespaces
// a webhook selects is not regarded: those of leases have other labels each.
func (s *Seen) hooks() (out []hook) {
	for _, o := range s.Webhooks.Value {
		all, _, _ := unstructured.NestedSlice(o.Object, "webhooks")
		for _, w := range all {
			policy, _ := state.Field(w, "failurePolicy").(string)
			of := s.judged(w)
			if cmp.Or(policy, "Fail") != "Fail" || len(of) == 0 {
				continue
			}
			h := hook{configuration: o, of: of}
			h.name, _ = state.Field(w, "name").(string)
			if name, isService := state.Field(w, "clientConfig", "service", "name").(string); isService {
				h.backend = fmt.Sprintf("%v/%s", state.Field(w, "clientConfig", "service", "namespace"), name)
			}
			out = append(out, h)
		}
	}
	return out
}

// leases are the objects of the ledger.
var leases = schema.GroupVersionResource{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"}

// written are the resources that this program writes.
func (s *Seen) written() []schema.GroupVersionResource {
	of := slices.Concat(kinds.OfTarget(s.Config.Target), []kinds.Kind{kinds.Service, kinds.Namespace}, kinds.ClaimLike, kinds.WrittenRecords(s.Config))
	if s.leasesAddresses() {
		of = append(of, kinds.WrittenPools(s.Config)...)
	}
	all := []schema.GroupVersionResource{leases}
	for _, k := range of {
		all = append(all, k.Resource())
	}
	return all
}

// judged returns the resources that a webhook judges and this program writes.
func (s *Seen) judged(webhook any) (out []string) {
	rules, _ := state.Field(webhook, "rules").([]any)
	for _, k := range s.written() {
		if slices.ContainsFunc(rules, func(rule any) bool {
			return has(rule, "apiGroups", k.Group) && has(rule, "apiVersions", k.Version) && has(rule, "resources", k.Resource, "*/*") &&
				(has(rule, "operations", "CREATE") || has(rule, "operations", "UPDATE") || has(rule, "operations", "DELETE"))
		}) {
			out = append(out, k.Resource)
		}
	}
	return out
}

// has reports whether a list of a webhook's rule has "*" or one of the values.
func has(rule any, key string, values ...string) bool {
	all, _ := state.Field(rule, key).([]any)
	return slices.ContainsFunc(all, func(v any) bool {
		s, _ := v.(string)
		return s == "*" || slices.Contains(values, s)
	})
}

// webhooks checks whether webhooks that have to answer can answer.
func (s *Seen) webhooks() []Line {
	if s.Webhooks.Unread != nil {
		return []Line{s.unknown(s.Webhooks.Unread)}
	}
	var lines []Line
	hooks := s.hooks()
	for _, h := range hooks {
		where := fmt.Sprintf("%s %s: webhook %s, which judges %s,", h.configuration.GetKind(), h.configuration.GetName(), h.name, list(h.of))
		mend := fmt.Sprintf("start what serves it; if that is gone for good: kubectl delete %s %s", lower(h.configuration), h.configuration.GetName())
		switch b := s.Backends[h.backend]; {
		case h.backend == "":
			lines = append(lines, Line{Result: Unknown, Text: where + " is outside of the cluster; whether it answers was not asked"})
		case b.Unread != nil:
			line := s.unknown(b.Unread)
			line.Text = where + " may not answer: " + line.Text
			lines = append(lines, line)
		case !b.Value.Exists:
			lines = append(lines, problem(mend, "%s cannot answer, and their writes are refused: there is no Service %s", where, h.backend))
		case b.Value.Ready == 0:
			lines = append(lines, problem(mend, "%s cannot answer, and their writes are refused: Service %s has no ready endpoint", where, h.backend))
		}
	}
	switch {
	case len(lines) > 0:
		return lines
	case len(hooks) == 0:
		return []Line{ok("none has to answer before this program writes")}
	}
	var all []string
	for _, h := range hooks {
		all = append(all, h.name)
	}
	return []Line{ok("the Services of those that judge what this program writes have ready endpoints (%s)", some(all))}
}
