package observed_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/engine/observed"
	ot "github.com/akash-net/kubectl-akash-net/engine/observed/observedtest"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/render"
)

// leasedIP is a ProviderLeasedIP of a service.
func leasedIP(id lease.ID, service string) *unstructured.Unstructured {
	return labelled(ot.ProviderLeasedIP(id, 443), "service-name", service)
}

func labelled(o *unstructured.Unstructured, name, value string) *unstructured.Unstructured {
	labels := o.GetLabels()
	labels[name] = value
	o.SetLabels(labels)
	return o
}

func rendered(o *unstructured.Unstructured) render.Object {
	return render.Object{Kind: kinds.Of(o.GetKind()), Namespace: o.GetNamespace(), Name: o.GetName(), Config: o}
}

// appliedBy is the object as a manager has applied it, with annotations of its own.
func appliedBy(o *unstructured.Unstructured, manager string, annotations ...string) *unstructured.Unstructured {
	fields := map[string]any{}
	for _, name := range annotations {
		fields["f:"+name] = map[string]any{}
	}
	entry := map[string]any{"manager": manager, "operation": "Apply", "fieldsV1": map[string]any{"f:metadata": map[string]any{"f:annotations": fields}}}
	metadata := o.Object["metadata"].(map[string]any)
	all, _ := metadata["managedFields"].([]any)
	metadata["managedFields"] = append(all, entry)
	return o
}

// A mark is added to a copy: the object is rendered once and compared with several versions.
func TestTouched(t *testing.T) {
	o := rendered(ot.Ours(ot.Ingress(ot.Next, shop, "/")))
	before := render.Rendered(o)
	out := observed.Touched(o, "nonce")
	annotations := render.Rendered(out).GetAnnotations()
	if annotations[lease.AnnotationTaken] != "nonce" || annotations[lease.AnnotationDefinition] != "hash" {
		t.Errorf("annotations %v", annotations)
	}
	if diff := cmp.Diff(before, o.Config); diff != "" {
		t.Errorf("the rendered object has changed (-before +after):\n%s", diff)
	}
	if out.Kind != o.Kind || out.Namespace != o.Namespace || out.Name != o.Name {
		t.Errorf("another object: %s", out)
	}
	if got := render.Rendered(observed.Touched(rendered(ot.Ingress(ot.Next, shop, "/")), "nonce")).GetAnnotations(); len(got) != 1 {
		t.Errorf("an object without annotations gets %v", got)
	}
}

// An apply keeps the mark that its own manager has set.
func TestKeepsTaken(t *testing.T) {
	marked := func() *unstructured.Unstructured {
		return ot.Annotated(ot.Ingress(ot.Next, shop, "/"), lease.AnnotationTaken, "before")
	}
	for name, c := range map[string]struct {
		live *unstructured.Unstructured
		want string
	}{
		"a new object":            {nil, ""},
		"without a mark":          {appliedBy(ot.Ingress(ot.Next, shop, "/"), "me"), ""},
		"with its manager's mark": {appliedBy(marked(), "me", lease.AnnotationTaken), "before"},
		"with another's mark":     {appliedBy(appliedBy(marked(), "me"), "other", lease.AnnotationTaken), ""},
	} {
		got := render.Rendered(observed.KeepsTaken(rendered(ot.Ingress(ot.Next, shop, "/")), c.live, "me")).GetAnnotations()[lease.AnnotationTaken]
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// The hostname operator is asked to process a ProviderHost again when it changes, and only then.
func TestDeployRequested(t *testing.T) {
	const before, now = "2026-11-20T00:00:00Z", "2026-11-21T09:00:00Z"
	at := time.Date(2026, 11, 21, 9, 0, 0, 1, time.UTC)
	host := func() *unstructured.Unstructured { return ot.Ours(ot.ProviderHost(ot.Next, shop)) }
	asked := func(o *unstructured.Unstructured) *unstructured.Unstructured {
		return ot.Annotated(o, lease.AnnotationUpdatedAt, before)
	}
	another := func(o *unstructured.Unstructured) *unstructured.Unstructured {
		o.Object["spec"].(map[string]any)["service_name"] = "other"
		return o
	}
	for name, c := range map[string]struct {
		o, live *unstructured.Unstructured
		want    string
	}{
		"a new one":                       {host(), nil, now},
		"as it is":                        {host(), appliedBy(asked(host()), "me", lease.AnnotationUpdatedAt), before},
		"another service":                 {host(), another(appliedBy(asked(host()), "me", lease.AnnotationUpdatedAt)), now},
		"the annotation is of another":    {host(), appliedBy(asked(host()), "other", lease.AnnotationUpdatedAt), now},
		"Akash's provider has written it": {host(), another(ot.ByAkash(asked(host()))), ""},
		"as it is, and never asked":       {host(), appliedBy(host(), "me"), ""},
		"a route":                         {ot.Ingress(ot.Next, shop, "/"), nil, ""},
	} {
		got := render.Rendered(observed.DeployRequested(rendered(c.o), c.live, "me", at)).GetAnnotations()[lease.AnnotationUpdatedAt]
		if got != c.want {
			t.Errorf("%s: asked at %q, want %q", name, got, c.want)
		}
	}
}
