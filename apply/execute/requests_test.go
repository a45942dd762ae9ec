package execute

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/command"
	"github.com/akash-net/kubectl-akash-net/engine"
	"github.com/akash-net/kubectl-akash-net/engine/observed"
	ot "github.com/akash-net/kubectl-akash-net/engine/observed/observedtest"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
)

// An object is touched in the version that is there, unless it has another tenant by then, or is another one.
func TestTouch(t *testing.T) {
	const host = "shop.example.com"
	seen := ot.Ours(ot.ProviderHost(ot.Shop, host))
	seen.SetUID("u")
	seen.SetResourceVersion("7")
	for name, tt := range map[string]struct {
		change  func(*unstructured.Unstructured)
		touched bool
	}{
		"as it was":     {func(*unstructured.Unstructured) {}, true},
		"changed since": {func(o *unstructured.Unstructured) { o.SetResourceVersion("8") }, true},
		"another tenant's": {func(o *unstructured.Unstructured) {
			o.SetResourceVersion("8")
			o.SetLabels(ot.Next.Labels())
		}, false},
		"made anew": {func(o *unstructured.Unstructured) { o.SetUID("v") }, false},
	} {
		now := seen.DeepCopy()
		tt.change(now)
		c, err := cluster.OfObjects([]*unstructured.Unstructured{now})
		if err != nil {
			t.Fatal(err)
		}
		c = c.DryRun(cluster.DryRunClient)
		l := &loop{command: command.New(c, command.Options{Config: config.Default()})}
		if err := l.touch(t.Context(), observed.Object{Kind: kinds.ProviderHost, Live: seen, Group: ot.Shop.Group()}, "mark"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		after, err := c.Get(t.Context(), kinds.ProviderHost, seen.GetNamespace(), host)
		if err != nil {
			t.Fatal(err)
		}
		if touched := after.GetAnnotations()[lease.AnnotationTaken] == "mark"; touched != tt.touched {
			t.Errorf("%s: touched %t", name, touched)
		}
	}
}

// answers answers each request with a code and a message; without a code there is no answer.
type answers struct {
	code    int
	message string
}

// RoundTrip implements http.RoundTripper.
func (a answers) RoundTrip(r *http.Request) (*http.Response, error) {
	if a.code == 0 {
		return nil, errors.New(a.message)
	}
	text := fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","status":"Failure","code":%d,"reason":%q,"message":%q}`, a.code, strings.ReplaceAll(http.StatusText(a.code), " ", ""), a.message)
	return &http.Response{StatusCode: a.code, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(text)), Request: r}, nil
}

// A dry run that gets no answer is told as such, and not as one that nobody has refused. Webhooks that know no dry runs, and the
// Role that a RoleBinding does not have yet, refuse nothing.
func TestCheck(t *testing.T) {
	const known, unclear, refused = "allowed", "unclear", "refused"
	for name, tt := range map[string]struct {
		answers
		kind kinds.Kind
		want string
	}{
		"refused":                            {answers{http.StatusForbidden, "quota"}, kinds.Ingress, refused},
		"no answer":                          {answers{0, "connection reset by peer"}, kinds.Ingress, unclear},
		"a gateway's":                        {answers{http.StatusBadGateway, ""}, kinds.Ingress, unclear},
		"a webhook without dry runs":         {answers{http.StatusBadRequest, "it does not support dry run"}, kinds.Ingress, known},
		"another bad request":                {answers{http.StatusBadRequest, "it is no JSON"}, kinds.Ingress, refused},
		"a RoleBinding whose Role is wanted": {answers{http.StatusNotFound, "no Role"}, kinds.RoleBinding, known},
		"any other thing that is not there":  {answers{http.StatusNotFound, "no Role"}, kinds.Ingress, refused},
	} {
		for _, makes := range []bool{false, true} {
			c, err := cluster.Connect(&rest.Config{Host: "http://none", Transport: tt.answers}, 1)
			if err != nil {
				t.Fatal(err)
			}
			object := cluster.Applicable(tt.kind, ot.Object(tt.kind, ot.Shop, "a", nil))
			l, answer, got := &loop{command: command.New(c, command.Options{Config: config.Default()})}, engine.Answer{}, known
			switch err := l.check(t.Context(), engine.OfRendered{Apply: object, Manager: "m", Makes: makes}, &answer); {
			case answer.Unclear && answer.Stale && err != nil:
				got = unclear
			case err != nil:
				got = refused
			}
			if got != tt.want {
				t.Errorf("%s, makes %t: %s, %+v", name, makes, got, answer)
			}
		}
	}
}
