package examine

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/version"

	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/manifests"
	"github.com/akash-net/kubectl-akash-net/state"
)

// The versions of Kubernetes that first have what is needed as stable API: server-side apply, with which all objects are written
// (KEP-555), and ValidatingAdmissionPolicies, of which the guard consists (KEP-3488).
var (
	withApply    = version.MustParseGeneric("1.22")
	withPolicies = version.MustParseGeneric("1.30")
)

func (s *Seen) kubernetes() []Line {
	if s.Version.Unread != nil {
		return []Line{s.unknown(s.Version.Unread)}
	}
	v, err := version.ParseGeneric(s.Version.Value)
	switch {
	case err != nil:
		return []Line{{Result: Unknown, Text: "the server says that its version is " + s.Version.Value}}
	case v.LessThan(withApply):
		return []Line{problem("upgrade the cluster", "version %s; this program needs %s, for server-side apply", s.Version.Value, withApply)}
	case v.LessThan(withPolicies):
		return []Line{warning("upgrade the cluster", "version %s; the guard (install --guard) needs %s", s.Version.Value, withPolicies)}
	}
	return []Line{ok("version %s", s.Version.Value)}
}

// tolerated is how far clocks may be apart without a warning.
const tolerated = 5 * time.Second

func (s *Seen) clock() []Line {
	const mend = "set this machine's clock, or the server's"
	switch c := s.Clock; {
	case !c.Seen:
		return []Line{{Result: Unknown, Text: "the server has not told its time"}}
	case c.Least > tolerated:
		return []Line{warning(mend, "this machine's clock is %s behind the server's; holds expire by the server's", c.Least.Round(time.Second))}
	case c.Most < -tolerated:
		return []Line{warning(mend, "this machine's clock is %s ahead of the server's; holds expire by the server's", (-c.Most).Round(time.Second))}
	}
	return []Line{ok("this machine's clock and the server's agree")}
}

const install = "kubectl akash-net install"

func (s *Seen) configuration() []Line {
	c := s.Configured.Value
	switch {
	case s.Configured.Unread != nil:
		line := s.unknown(s.Configured.Unread)
		line.Text += "; the default configuration is checked instead"
		return []Line{line}
	case c.Missing && s.Applied != "":
		return []Line{warning(state.RestoreLedger, "there is no %s; the default configuration is checked instead", c.Place)}
	case c.Missing && s.Before:
		return []Line{ok("there is none yet; the default one is checked, or that of --config")}
	case c.Missing:
		return []Line{warning(install, "there is no %s; the default configuration is in effect", c.Place)}
	case len(c.Problems) == 0:
		return []Line{ok("%s is valid", c.Place)}
	}
	var lines []Line
	for _, p := range c.Problems {
		result := Problem
		if p.Warning {
			result = Warning
		}
		lines = append(lines, Line{Result: result, Text: p.Error(), Mend: c.Edit})
	}
	if c.Problems.Failed() {
		lines = append(lines, warning(c.Edit, "the default configuration is checked instead"))
	}
	return lines
}

func (s *Seen) namespaces() []Line {
	wanted := []string{s.Config.LedgerNamespace, s.Config.ManifestNamespace}
	var lines []Line
	var there []string
	for _, name := range slices.Compact(wanted) {
		o := s.Namespaces[name]
		switch {
		case o.Unread != nil:
			lines = append(lines, s.unknown(o.Unread))
		case o.Value == nil && s.Applied != "" && name == s.Config.LedgerNamespace:
			lines = append(lines, problem(state.RestoreLedger, "the ledger is lost: there is no namespace %s, and leases have objects, such as %s", name, s.Applied))
		case o.Value == nil && s.Before:
		case o.Value == nil:
			lines = append(lines, problem(install, "there is no namespace %s", name))
		case o.Value.GetDeletionTimestamp() != nil:
			lines = append(lines, problem("kubectl describe namespace "+name, "namespace %s is being deleted; install waits until it is gone", name))
		default:
			there = append(there, name)
		}
	}
	switch {
	case len(lines) > 0:
		return lines
	case len(there) == 0:
		return []Line{ok("%s do not exist yet; install brings them", list(slices.Compact(wanted)))}
	}
	return []Line{ok("%s", list(there))}
}

// definitions checks Akash's resource definitions.
func (s *Seen) definitions() []Line {
	var lines []Line
	var there []string
	for _, k := range []kinds.Kind{kinds.Manifest, kinds.ProviderHost, kinds.ProviderLeasedIP} {
		crd := s.Definitions[k.Plural+"."+k.Group]
		absent := crd.Unread == nil && crd.Value == nil
		mend := "upgrade Akash's provider"
		if absent || crd.Unread != nil {
			mend = install
		}
		line, served := s.serves(k, mend)
		switch {
		case served:
			there = append(there, k.Plural)
		case !s.Before || !absent || line.Result == Unknown:
			lines = append(lines, line)
		}
	}
	switch group := kinds.Manifest.GroupVersion().String(); {
	case len(lines) > 0:
		return lines
	case len(there) == 0:
		return []Line{ok("%s is not served yet; install brings it", group)}
	default:
		return []Line{ok("%s serves %s", group, list(there))}
	}
}

// dns checks the kind of DNS records.
func (s *Seen) dns() []Line {
	var lines []Line
	for _, k := range kinds.WrittenRecords(s.Config) {
		line, served := s.serves(k, "install it, or configure another dns.form")
		if served {
			line = ok("%s serves %s (dns.form: %s)", k.GroupVersion(), k.Plural, strings.ToLower(s.Config.DNS.Form))
		}
		lines = append(lines, line)
	}
	return lines
}

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
			of := judged(s.Config, w)
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
func written(cfg *config.ProviderConfig) []schema.GroupVersionResource {
	of := slices.Concat(kinds.OfTarget(cfg.Target), []kinds.Kind{kinds.Service, kinds.Namespace}, kinds.ClaimLike, kinds.WrittenRecords(cfg))
	if leasesAddresses(cfg) {
		of = append(of, kinds.WrittenPools(cfg)...)
	}
	all := []schema.GroupVersionResource{leases}
	for _, k := range of {
		all = append(all, k.Resource())
	}
	return all
}

// judged returns the resources that a webhook judges and this program writes.
func judged(cfg *config.ProviderConfig, webhook any) (out []string) {
	rules, _ := state.Field(webhook, "rules").([]any)
	for _, k := range written(cfg) {
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

// guard checks the admission policies: that they are complete, refuse, and are those of this program.
func (s *Seen) guard() []Line {
	const guarded = install + " --guard"
	if s.Policies.Unread != nil {
		return []Line{s.unknown(s.Policies.Unread)}
	}
	wanted, err := manifests.Guard(s.Config, false)
	if err != nil {
		return []Line{{Result: Unknown, Text: err.Error()}}
	}
	all, err := manifests.Guard(s.Config, true)
	if err != nil {
		return []Line{{Result: Unknown, Text: err.Error()}}
	}
	isThere := func(o Object) bool { return policy(s.Policies.Value, o) != nil }
	if !slices.ContainsFunc(all, isThere) {
		return []Line{warning(guarded, "it is not installed: a client that forces its writes, or does not use server-side apply, can take claims from their holders")}
	}
	level, mend := "on", guarded
	if slices.ContainsFunc(all, func(o Object) bool { return strict(wanted, o) && isThere(o) }) {
		wanted, level, mend = all, "strict", guarded+"=strict"
	}
	var lines []Line
	for _, o := range wanted {
		if why := unlike(policy(s.Policies.Value, o), o); why != "" {
			lines = append(lines, problem(mend, "%s %s %s", o.GetKind(), o.GetName(), why))
		}
	}
	if len(lines) > 0 {
		return lines
	}
	return []Line{ok("%s: all of its policies are in effect, as this version installs them", level)}
}

// strict reports whether a policy or a binding belongs only to the strict guard.
func strict(plain []Object, o Object) bool { return named(plain, o.GetName()) == nil }

// policy returns the live policy or binding for one of the manifests, or nil.
func policy(all []Object, o Object) Object {
	i := slices.IndexFunc(all, func(live Object) bool { return live.GetKind() == o.GetKind() && live.GetName() == o.GetName() })
	if i < 0 {
		return nil
	}
	return all[i]
}

// unlike returns how a live policy or binding is unlike its manifest, or "".
func unlike(live, o Object) string {
	if live == nil {
		return "is missing"
	}
	if actions, set, _ := unstructured.NestedStringSlice(live.Object, "spec", "validationActions"); set && !slices.Contains(actions, "Deny") {
		return fmt.Sprintf("does not refuse anything (validationActions: %s)", strings.Join(actions, ", "))
	}
	if field := differs("spec", o.Object["spec"], live.Object["spec"]); field != "" {
		return fmt.Sprintf("is not the one of this version: another one has installed it, or somebody has edited it (%s)", field)
	}
	return ""
}

// differs returns the first field in which a live value differs from the wanted one, or "". Fields that the API server sets to
// their defaults do not count.
func differs(at string, wanted, live any) string {
	switch w := wanted.(type) {
	case map[string]any:
		l, ok := live.(map[string]any)
		if !ok {
			return at
		}
		for _, key := range slices.Sorted(maps.Keys(l)) {
			if _, known := w[key]; !known && !isDefault(l[key]) {
				return at + "." + key
			}
		}
		for _, key := range slices.Sorted(maps.Keys(w)) {
			if field := differs(at+"."+key, w[key], l[key]); field != "" {
				return field
			}
		}
		return ""
	case []any:
		l, ok := live.([]any)
		if !ok || len(l) != len(w) {
			return at
		}
		for i := range w {
			if field := differs(fmt.Sprintf("%s[%d]", at, i), w[i], l[i]); field != "" {
				return field
			}
		}
		return ""
	}
	if !reflect.DeepEqual(wanted, live) {
		return at
	}
	return ""
}

// isDefault reports whether the API server sets the value in policies by itself (admissionregistration/v1: matchPolicy, scope,
// namespaceSelector and objectSelector).
func isDefault(v any) bool {
	m, isMap := v.(map[string]any)
	return v == "Equivalent" || v == "*" || isMap && len(m) == 0
}
