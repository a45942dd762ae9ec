package published

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	ot "github.com/akash-net/kubectl-akash-net/engine/observed/observedtest"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state/statetest"
	"github.com/akash-net/kubectl-akash-net/test/golden"
)

// Where a host is reached, as the objects that are live say it: testdata/targets.txt.
//
//	status    what a status lists, in the form of its kind
//	route     the status of a Route names the router that serves it
//	ingress   NAME CLASS ENTRIES | ...: where Ingresses of a class agree, their status says where one is reached that has none yet; "own" is the lease's
func TestTargets(t *testing.T) {
	object := func(kind kinds.Kind, name, text string) *unstructured.Unstructured {
		o := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(text), &o.Object); err != nil {
			t.Fatal(err)
		}
		o.SetGroupVersionKind(kind.GroupVersionKind)
		o.SetNamespace(name)
		if o.SetName(name); name == "own" {
			o.SetNamespace(statetest.Shop.Namespace())
			o.SetName("shop.example.com")
		}
		return o
	}
	reader := func(live ...*unstructured.Unstructured) *Reader {
		return &Reader{Config: config.Default(), Lease: statetest.Shop, Live: ot.Snapshot(nil, live...)}
	}
	golden.Rules{
		"status": func(line string) string { return fmt.Sprint(In(object(kinds.Service, "own", line), "status", "list")) },
		"route": func(line string) string {
			unknown := render.UnknownHost{Host: lease.Host{Name: "shop.example.com"}, Source: config.FromStatus, Target: config.TargetRoute}
			target, err := reader(object(kinds.Route, "own", line)).Target(t.Context(), unknown)
			return fmt.Sprintln(target.Host, err)
		},
		"ingress": func(line string) string {
			var live []*unstructured.Unstructured
			for one := range strings.SplitSeq(line, " | ") {
				words := append(strings.SplitN(one, " ", 3), "", "")
				live = append(live, object(kinds.Ingress, words[0], fmt.Sprintf("{spec: {ingressClassName: %s}, status: {loadBalancer: {ingress: [%s]}}}", words[1], words[2])))
			}
			target, err := reader(live...).ingressTarget(t.Context(), "shop.example.com")
			if err != nil {
				t.Fatal(err)
			}
			var values []string
			for _, r := range target.Records("x.y", 0) {
				values = append(values, r.Values...)
			}
			return strings.Join(values, " ")
		},
	}.Check(t, "testdata/targets.txt")
}
