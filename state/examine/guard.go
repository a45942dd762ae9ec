package examine

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/manifests"
)

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
	isThere := func(o Object) bool { return s.policy(o) != nil }
	if !slices.ContainsFunc(all, isThere) {
		return []Line{warning(guarded, "it is not installed: a client that forces its writes, or does not use server-side apply, can take claims from their holders")}
	}
	level, mend := "on", guarded
	if slices.ContainsFunc(all, func(o Object) bool { return strict(wanted, o) && isThere(o) }) {
		wanted, level, mend = all, "strict", guarded+"=strict"
	}
	var lines []Line
	for _, o := range wanted {
		if why := s.unlike(o); why != "" {
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
func (s *Seen) policy(o Object) Object {
	i := slices.IndexFunc(s.Policies.Value, func(live Object) bool { return live.GetKind() == o.GetKind() && live.GetName() == o.GetName() })
	if i < 0 {
		return nil
	}
	return s.Policies.Value[i]
}

// unlike returns how a live policy or binding is unlike its manifest, or "".
func (s *Seen) unlike(o Object) string {
	live := s.policy(o)
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
