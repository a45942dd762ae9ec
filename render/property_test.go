package render_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/test/routegen"
)

// rendered is what the property looks at in an object.
type rendered struct {
	Metadata struct {
		Name, Namespace     string
		Labels, Annotations map[string]string
	}
	Spec struct {
		Hostname string
		Host     string
		Rules    []struct {
			Host string
			HTTP struct{ Paths []any }
		}
	}
}

// Whatever a definition says of its routes, Akash's operators see only what they know: ProviderHosts
// of root hosts, and with their label at most the one route of each with one rule and one path. No
// object stands there twice, and none has an empty field.
func TestWhatAkashSees(t *testing.T) {
	made := map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		def := routegen.Definition(t)
		if problems := lease.Check(def); problems.Failed() {
			t.Fatal(problems)
		}
		for _, target := range routegen.Targets() {
			objects, err := render.Lease(def, target.Config, nil)
			if err != nil {
				if problems, ok := errors.AsType[lease.Problems](err); !ok || len(problems) == 0 || len(problems.Warnings()) > 0 {
					t.Fatalf("%s: %v", target.Name, err)
				}
				continue
			}
			made[target.Name] += len(objects)
			checkObjects(t, target.Name, objects)
		}
	})
	for _, target := range routegen.Targets() {
		if made[target.Name] == 0 {
			t.Errorf("%s: nothing was rendered", target.Name)
		}
	}
}

func checkObjects(t *rapid.T, target string, objects []render.Object) {
	hosts, seen := map[string]bool{}, map[string]bool{}
	for _, o := range objects {
		data, err := json.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		var r rendered
		if err := json.Unmarshal(data, &r); err != nil {
			t.Fatal(err)
		}
		if id := fmt.Sprint(o.Kind.Kind, o.Namespace, o.Name); seen[id] {
			t.Fatalf("%s: %s is made twice", target, o)
		} else {
			seen[id] = true
		}
		if o.Name != r.Metadata.Name || o.Namespace != r.Metadata.Namespace || r.Metadata.Annotations[lease.AnnotationDefinition] == "" {
			t.Fatalf("%s: %s", target, data)
		}
		if _, ok := lease.IDFromLabels(r.Metadata.Labels); !ok {
			t.Fatalf("%s: %s has not the lease's labels: %s", target, o, data)
		}
		akashs, ours := r.Metadata.Labels[lease.LabelManaged], r.Metadata.Labels[lease.LabelOurs]
		if (akashs == "true") == (ours == "true") {
			t.Fatalf("%s: %s is Akash's or ours, not both or none: %s", target, o, data)
		}
		switch {
		case o.Kind == kinds.ProviderHost:
			hosts[o.Name] = true
			if o.Name != r.Spec.Hostname || lease.CheckHost(o.Name) != nil {
				t.Fatalf("%s: the ProviderHost %s", target, data)
			}
		case akashs == "true" && (o.Kind != kinds.Ingress && o.Kind != kinds.HTTPRoute || !hosts[o.Name]):
			t.Fatalf("%s: Akash's operators do not know %s", target, data)
		}
		if o.Kind == kinds.Ingress && (len(r.Spec.Rules) != 1 || len(r.Spec.Rules[0].HTTP.Paths) != 1) {
			t.Fatalf("%s: not one rule with one path: %s", target, data)
		}
		for _, empty := range []string{":{}", ":[]", ":null", `"status"`} {
			if bytes.Contains(data, []byte(empty)) {
				t.Fatalf("%s: %s has an empty field: %s", target, o, data)
			}
		}
		if strings.HasPrefix(o.Name, "rd--") != (bytes.Contains(data, []byte(`"requestRedirect"`))) {
			t.Fatalf("%s: only redirects are named so: %s", target, data)
		}
	}
}
