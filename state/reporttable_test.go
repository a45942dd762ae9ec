package state

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// What routers say of a route: testdata/reports.txt. A route is written shortly, and stands in namespace "own", generation 3:
//
//	reports    KIND [of PARENT,...] | what is said of it: "BY: CONDITION=STATUS[@GENERATION] ...; ..." | the Gateways or routers
//	           that are there, "any" where nobody knows
//	serving    KIND [of PARENT,...] | what is said | the Gateway's conditions, "none" where there is none | the Gateway's name
//
// A Gateway is NAMESPACE/NAME or NAMESPACE/NAME/LISTENER, or NAME in the route's namespace; a Route of OpenShift is "Route HOST",
// and its routers say "ROUTER HOST: ...".
func TestReportTable(t *testing.T) {
	table(t, "reports.txt", map[string]func(*testing.T, string) string{"reports": reportsInWords, "serving": servingInWords})
}

func wordRoute(t *testing.T, head, said string) *unstructured.Unstructured {
	words := strings.Fields(head)
	o := map[string]any{"kind": words[0], "metadata": map[string]any{"namespace": "own", "name": "r", "generation": int64(3)}}
	isRoute := words[0] == "Route"
	var parents []any
	if isRoute {
		o["spec"] = map[string]any{"host": words[1]}
	} else if len(words) > 2 {
		for parent := range strings.SplitSeq(words[2], ",") {
			parents = append(parents, wordParent(parent))
		}
		o["spec"] = map[string]any{"parentRefs": parents}
	}
	var entries []any
	for one := range strings.SplitSeq(said, ";") {
		by, conditions, ok := strings.Cut(one, ": ")
		if !ok {
			continue
		}
		entry := map[string]any{"conditions": wordConditions(t, conditions)}
		if by = strings.TrimSpace(by); isRoute {
			entry["routerName"], entry["host"], _ = strings.Cut(by, " ")
		} else {
			entry["parentRef"], entry["controllerName"] = wordParent(by), "example.com/c"
		}
		entries = append(entries, entry)
	}
	field := "parents"
	switch words[0] {
	case "Route":
		field = "ingress"
	case "Ingress":
		o["status"] = map[string]any{"loadBalancer": map[string]any{"ingress": entries}}
		return &unstructured.Unstructured{Object: o}
	}
	o["status"] = map[string]any{field: entries}
	return &unstructured.Unstructured{Object: o}
}

func wordParent(text string) map[string]any {
	words := strings.Split(text, "/")
	p := map[string]any{"name": words[0], "kind": "Gateway", "group": "gateway.networking.k8s.io"}
	if len(words) > 1 {
		p["namespace"], p["name"] = words[0], words[1]
	}
	if len(words) > 2 {
		p["sectionName"] = words[2]
	}
	return p
}

func wordConditions(t *testing.T, text string) (conditions []any) {
	for word := range strings.FieldsSeq(text) {
		if word == "-" {
			continue
		}
		kind, status, ok := strings.Cut(word, "=")
		if !ok {
			t.Fatalf("%q is no condition", word)
		}
		c := map[string]any{"type": kind, "reason": kind + "Reason", "message": "because", "lastTransitionTime": "2026-11-18T09:00:00Z"}
		if s, generation, said := strings.Cut(status, "@"); said {
			status, c["observedGeneration"] = s, int64(generation[0]-'0')
		}
		c["status"] = status
		conditions = append(conditions, c)
	}
	return conditions
}

func reportsInWords(t *testing.T, line string) string {
	f := fields(line, 3)
	o := wordRoute(t, f[0], f[1])
	there := Routers{}
	if f[2] != "any" && f[2] != "" {
		there.Gateways, there.Routers = map[string]bool{}, map[string]bool{}
		for word := range strings.FieldsSeq(f[2]) {
			there.Gateways[word], there.Routers[word] = true, true
		}
	}
	reports := Reports(o, there)
	var said []string
	for _, r := range reports {
		said = append(said, r.String())
	}
	text := strings.Join(said, "; ")
	if Accepted(reports) {
		text += " => accepted"
	}
	if Serves(reports) {
		text += ", serves"
	}
	field, kept := WithoutStale(o, there)
	if stale := slices.ContainsFunc(reports, func(r Report) bool { return r.Stale != "" }); stale {
		text += fmt.Sprintf(" => %d of %d %s stay", len(kept), len(reports), field)
	} else if kept == nil || len(kept) != len(reports) {
		t.Errorf("%s: of reports none of which is stale %v stay", line, kept)
	}
	return text
}

func servingInWords(t *testing.T, line string) string {
	f := fields(line, 4)
	var gateway *unstructured.Unstructured
	if f[2] != "none" {
		gateway = &unstructured.Unstructured{Object: map[string]any{
			"kind": "Gateway", "metadata": map[string]any{"name": "g", "generation": int64(3)}, "status": map[string]any{"conditions": wordConditions(t, f[2])},
		}}
	}
	if why := NotServing(wordRoute(t, f[0], f[1]), gateway, f[3]); why != "" {
		return why
	}
	return "serves"
}
