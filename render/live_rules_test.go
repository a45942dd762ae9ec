package render_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/render"
)

// What a live route is read as, and why it is not read: testdata/live.txt; `go test ./render -rewrite` writes it.
//
//	base    a route, and the objects beside it
//	read    each line is the base with fields that are set, "PATH = JSON; …"; without a value a field goes. "KIND:" before a
//	        path is an object beside the route
//	migrate    the same, and what is told of the new form for the target, and how it treats requests without TLS
//
// Of what is read a line shows what is other than the base's.
func TestLiveRoutes(t *testing.T) {
	id := lease.ID{Owner: "akash1x", DSeq: 1, GSeq: 1, OSeq: 1, Provider: "akash1y"}
	cfg := config.Default()
	cfg.DNS.Form = config.DNSAnnotations
	s := render.Surroundings{Ports: map[string][]render.ServicePort{
		"web": {{Name: "http", Port: 80, Container: 8080}, {Name: "admin", Port: 81, Container: 8081}},
		"api": {{Name: "http", Port: 80, Container: 8080}}, "other": {{Name: "http", Port: 80, Container: 9090}},
	}}
	for _, name := range []string{"b", "c", "d"} {
		s.Ports[name] = s.Ports["api"]
	}
	ours := func(o *unstructured.Unstructured) {
		labels := o.GetLabels()
		if labels == nil {
			labels = map[string]string{}
		}
		for k, v := range id.Labels() {
			if _, said := labels[k]; !said {
				labels[k] = v
			}
		}
		o.SetLabels(labels)
		o.SetNamespace(id.Namespace())
	}
	var base, was string
	parse := func(t *testing.T, edits string) (*unstructured.Unstructured, render.Surroundings) {
		var docs []*unstructured.Unstructured
		for doc := range strings.SplitSeq(base, "\n---\n") {
			o := &unstructured.Unstructured{}
			if err := yaml.Unmarshal([]byte(doc), &o.Object); err != nil {
				t.Fatal(err)
			}
			docs = append(docs, o)
		}
		for edit := range strings.SplitSeq(edits, "; ") {
			if edit == "" {
				continue
			}
			path, value, _ := strings.Cut(edit, " = ")
			o := docs[0]
			if kind, rest, beside := strings.Cut(path, ":"); beside && strings.ToUpper(kind[:1]) == kind[:1] {
				for _, o = range docs {
					if o.GetKind() == kind {
						break
					}
				}
				path = rest
			}
			setField(t, o.Object, strings.TrimSuffix(path, " ="), value)
		}
		around := s
		around.Find = func(kind kinds.Kind, name string) *unstructured.Unstructured {
			for _, o := range docs[1:] {
				if o.GetKind() == kind.Kind && o.GetName() == name {
					return o
				}
			}
			return nil
		}
		for _, o := range docs {
			ours(o)
		}
		return docs[0], around
	}
	read := func(t *testing.T, edits string) string {
		route, around := parse(t, edits)
		live, err := render.ReadRoute(route, cfg, around)
		if err != nil {
			return "! " + err.Error()
		}
		e := live.Expose
		told, err := json.Marshal(map[string]any{
			"service": live.Service, "port": e.Port, "as": e.As, "host": live.Host, "path": e.Path, "http": e.HTTP, "routing": said(t, e.Routing), "beside": len(live.Beside),
		})
		if err != nil {
			t.Fatal(err)
		}
		out := string(told)
		for _, l := range live.Lost {
			out += "\n    lost: " + l.String()
		}
		return out
	}
	datadriven.RunTest(t, "testdata/live.txt", func(t *testing.T, d *datadriven.TestData) string {
		if d.Cmd == "base" {
			base = strings.ReplaceAll(d.Input, "NAMESPACE", id.Namespace())
			was = read(t, "")
			return was
		}
		var out strings.Builder
		for line := range strings.Lines(d.Input) {
			line = strings.TrimSuffix(line, "\n")
			edits := strings.ReplaceAll(line, "NAMESPACE", id.Namespace())
			if d.Cmd == "migrate" {
				route, around := parse(t, edits)
				fmt.Fprintf(&out, "%s\n%s", line, migrated(t, d, route, around))
				continue
			}
			got := read(t, edits)
			if got == was {
				got = "the same"
			}
			fmt.Fprintf(&out, "%s\n    %s\n", line, strings.ReplaceAll(got, id.Namespace(), "NAMESPACE"))
		}
		return out.String()
	})
}

// migrated is what is told of a route that goes to another target, and what its new form does with requests without TLS: the
// listeners of an HTTPRoute, the policy of a Route, the annotation of an Ingress.
func migrated(t *testing.T, d *datadriven.TestData, route *unstructured.Unstructured, around render.Surroundings) string {
	t.Helper()
	cfg, out := config.Default(), ""
	d.ScanArgs(t, "to", &cfg.Target)
	if d.HasArg("implementation") {
		d.ScanArgs(t, "implementation", &cfg.Gateway.Implementation)
	}
	cfg.Gateway.Listeners.Passthrough = []string{"tls"}
	if d.HasArg("no-passthrough") {
		cfg.Gateway.Listeners.Passthrough = nil
	}
	live, err := render.ReadRoute(route, cfg, around)
	if err != nil {
		return "    stays: " + err.Error() + "\n"
	}
	objects, told := objectsOf(render.Migrate([]*render.Live{live}, nil, cfg, around))
	for _, line := range told {
		out += "    " + line + "\n"
	}
	made := clusterOf(objects)
	for _, name := range slices.Sorted(maps.Keys(made)) {
		o := made[name]
		said := "    " + name
		parents, _, _ := unstructured.NestedSlice(o.Object, "spec", "parentRefs")
		for _, p := range parents {
			section, _, _ := unstructured.NestedString(p.(map[string]any), "sectionName")
			said += " " + section
		}
		policy, _, _ := unstructured.NestedString(o.Object, "spec", "tls", "insecureEdgeTerminationPolicy")
		out += strings.TrimRight(said+" "+policy+" "+o.GetAnnotations()["nginx.ingress.kubernetes.io/ssl-redirect"], " ") + "\n"
	}
	return out
}

// said is what a routing says: without places, and without what is empty.
func said(t *testing.T, r *lease.Routing) any {
	t.Helper()
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var value any
	if err := json.Unmarshal(text, &value); err != nil {
		t.Fatal(err)
	}
	return pruned(value)
}

func pruned(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for k, field := range v {
			if field == nil || field == "" || field == false || k == "At" {
				delete(v, k)
			} else {
				v[k] = pruned(field)
			}
		}
	case []any:
		for i := range v {
			v[i] = pruned(v[i])
		}
	}
	return value
}

// setField sets a field by its path, a.b[0]["c/d"]; an empty value removes it.
func setField(t *testing.T, object map[string]any, path, text string) {
	t.Helper()
	var value any
	if text != "" {
		if err := yaml.Unmarshal([]byte(text), &value); err != nil {
			t.Fatal(text, err)
		}
	}
	var keys []string
	for path != "" {
		var key string
		switch {
		case strings.HasPrefix(path, `["`):
			key, path, _ = strings.Cut(path[2:], `"]`)
		case path[0] == '[':
			key, path, _ = strings.Cut(path[1:], "]")
		default:
			end := strings.IndexAny(path, ".[")
			if end < 0 {
				end = len(path)
			}
			key, path = path[:end], path[end:]
		}
		keys, path = append(keys, key), strings.TrimPrefix(path, ".")
	}
	var at any = object
	for i, key := range keys {
		last := i == len(keys)-1
		switch container := at.(type) {
		case map[string]any:
			switch {
			case last && text == "":
				delete(container, key)
			case last:
				container[key] = value
			case container[key] == nil:
				container[key] = map[string]any{}
			}
			at = container[key]
		case []any:
			n, err := strconv.Atoi(key)
			if err != nil || n >= len(container) {
				t.Fatalf("there is no %s", key)
			}
			if last {
				container[n] = value
			}
			at = container[n]
		default:
			t.Fatalf("%s is no field", key)
		}
	}
}
