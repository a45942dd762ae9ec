package operators

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/observed"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
)

// The hostname operator takes the HTTP options of a route from the lease's Manifest, whatever a definition says
// (provider: operator/hostname, buildDirective).

// options returns the HTTP options that the definition and the lease's Manifest have for a rendered route of the hostname
// operator's. ok is false if one of them does not know the route.
func options(s *observed.Snapshot, def *lease.Definition, id lease.ID, o render.Object) (wanted, given lease.HTTPOptions, ok bool) {
	uses := state.HostUses(cluster.Rendered(o))
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
func UnlikeOf(s *observed.Snapshot, def *lease.Definition, id lease.ID, o render.Object) string {
	wanted, given, ok := options(s, def, id, o)
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
func caughtUp(s *observed.Snapshot, def *lease.Definition, id lease.ID, o render.Object, live *unstructured.Unstructured) bool {
	wanted, _, ok := options(s, def, id, o)
	return !ok || UnlikeOf(s, def, id, o) != "" || Unlike(live, wanted) == ""
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
