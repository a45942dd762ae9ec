package render_test

import (
	"bytes"
	"encoding/json"
	"io"
	"testing"

	netv1 "k8s.io/api/networking/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/emit"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/render"
)

// What the apply configurations say is what the API's own types understand.
func TestStrictTypes(t *testing.T) {
	types := map[string]func() any{
		kinds.Ingress.Kind:   func() any { return new(netv1.Ingress) },
		kinds.HTTPRoute.Kind: func() any { return new(gwv1.HTTPRoute) },
	}
	seen := map[string]bool{}
	for _, c := range goldenCases {
		for _, o := range c.objects(t) {
			text, err := json.Marshal(o)
			if err != nil {
				t.Fatal(err)
			}
			var head struct {
				APIVersion, Kind string
				Metadata         struct{ Name, Namespace string }
			}
			if err := json.Unmarshal(text, &head); err != nil {
				t.Fatal(err)
			}
			if head.APIVersion != o.Kind.GroupVersion().String() || head.Kind != o.Kind.Kind ||
				head.Metadata.Name != o.Name || head.Metadata.Namespace != o.Namespace {
				t.Errorf("%s: %s says it is %+v", c.name, o, head)
			}
			if newType, ok := types[o.Kind.Kind]; ok {
				seen[o.Kind.Kind] = true
				d := json.NewDecoder(bytes.NewReader(text))
				d.DisallowUnknownFields()
				if err := d.Decode(newType()); err != nil {
					t.Errorf("%s: %s: %v", c.name, o, err)
				}
			}
		}
	}
	if len(seen) != len(types) {
		t.Errorf("only %v were seen", seen)
	}
}

// What a rendered object costs is counted in allocations, which do not vary, with a little to spare.
func TestAllocationsOfAnObject(t *testing.T) {
	d, cfg := definition(web("shop.example.com")), config.Default()
	objects := 0
	rendering := testing.AllocsPerRun(100, func() {
		rendered, err := render.Lease(d, cfg, nil)
		if err != nil {
			t.Fatal(err)
		}
		objects = len(rendered)
	})
	rendered, _ := render.Lease(d, cfg, nil)
	e, err := emit.NewEncoder(io.Discard, emit.YAML)
	if err != nil {
		t.Fatal(err)
	}
	writing := testing.AllocsPerRun(100, func() {
		for _, o := range rendered {
			if err := e.Encode(o.Config); err != nil {
				t.Fatal(err)
			}
		}
	})
	const mostRendering, mostWriting = 25, 26
	if n := float64(objects); rendering/n > mostRendering || writing/n > mostWriting {
		t.Errorf("an object takes %.1f allocations to render and %.1f to write, more than %d and %d", rendering/n, writing/n, mostRendering, mostWriting)
	}
}

// What is made of a rendered object is its own: whoever changes that changes nothing of what was rendered.
func TestRenderedIsACopy(t *testing.T) {
	rendered, err := render.Lease(definition(web("shop.example.com")), config.Default(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range rendered {
		marked := render.Annotated(o, "a", "b")
		render.Rendered(marked).SetResourceVersion("1")
		render.Annotated(marked, "a", "c")
		if now := render.Look(marked); now.GetResourceVersion() != "" || now.GetAnnotations()["a"] != "b" {
			t.Errorf("%s has version %q, and %q", o, now.GetResourceVersion(), now.GetAnnotations()["a"])
		}
	}
}
