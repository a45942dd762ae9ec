package executor

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/command"
	"github.com/akash-net/kubectl-akash-net/engine/report"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/test/golden"
)

func parse(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &o.Object); err != nil {
		t.Fatal(err)
	}
	return o
}

// owned adds a managed fields entry of an apply.
func owned(o *unstructured.Unstructured, manager, fields string) *unstructured.Unstructured {
	o.SetManagedFields(append(o.GetManagedFields(), metav1.ManagedFieldsEntry{
		Manager: manager, Operation: metav1.ManagedFieldsOperationApply, APIVersion: "v1", FieldsType: "FieldsV1",
		FieldsV1: metav1.NewFieldsV1(fields),
	}))
	return o
}

// What an object is applied again with, by the fields that are the manager's: testdata/applied.txt has the managed fields of a line. Labels and
// annotations of others stay theirs.
//
//	given     a Service leaves what Kubernetes has given it
//	applied   the spec, and what the manager owns of the metadata
//	only      a route is pinned, and its spec left alone where another manager owns it
func TestApplied(t *testing.T) {
	const service = "{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {clusterIP: 10.0.0.1, clusterIPs: [10.0.0.1], type: LoadBalancer, " +
		"ports: [{port: 80, protocol: TCP, nodePort: 30000}]}}"
	const route = "{apiVersion: v1, kind: A, metadata: {name: a, namespace: ns, uid: u, resourceVersion: \"7\", labels: {ours: a, theirs: b}, " +
		"annotations: {ours: a, theirs: b}}, spec: {x: 1}, status: {y: 2}}"
	says := func(object any) string {
		text, err := json.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	live := func(text, fields string) *unstructured.Unstructured {
		return owned(owned(parse(t, text), lease.FieldManager, fields), "other", `{"f:spec": {"f:x": {}}}`)
	}
	golden.Rules{
		"given": func(fields string) string {
			o := parse(t, service)
			if fields != "none" {
				owned(o, lease.FieldManager, fields)
			}
			applied := Applied(o)
			if err := LeaveGiven(applied, o); err != nil {
				return err.Error()
			}
			return says(applied.Object["spec"])
		},
		"applied": func(fields string) string { return says(Applied(live(route, fields)).Object) },
		"only":    func(fields string) string { return says(AppliedOnly(live(route, fields)).Object) },
	}.Check(t, "testdata/applied.txt")
}

// A wait that is not over soon is told once: for what, since when and until when, which is the end of all waits of the run.
func TestWaitsAreTold(t *testing.T) {
	id := lease.ID{Owner: "akash1owner", DSeq: 7, GSeq: 1, OSeq: 1, Provider: "akash1provider"}
	for name, tt := range map[string]struct {
		wait, before, takes time.Duration
		want                []string
	}{
		"over soon":               {time.Minute, 0, time.Second, nil},
		"it lasts":                {time.Minute, 0, 10 * time.Second, []string{"akash1owner/7/1 waiting for a: 0s 1m0s"}},
		"others have waited":      {time.Minute, 50 * time.Second, 5 * time.Second, []string{"akash1owner/7/1 waiting for a: 50s 1m0s"}},
		"the time is over soon":   {time.Minute, 59 * time.Second, 5 * time.Second, nil},
		"it is not waited at all": {0, 0, 10 * time.Second, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begin := time.Now()
				var got []string
				x := New(&command.Command{Cluster: &cluster.Cluster{}, Options: command.Options{Wait: tt.wait, Report: func(e report.Event) {
					got = append(got, e.Name+" "+string(e.Action)+" "+e.Message+": "+e.Since.Sub(begin).String()+" "+e.Until.Sub(begin).String())
				}}}, state.Request{Lease: id})
				x.Left()
				time.Sleep(tt.before)
				since := time.Now()
				_ = x.Await(t.Context(), "a", func(context.Context) ([]string, error) {
					if time.Since(since) < tt.takes {
						return []string{"a"}, nil
					}
					return nil, nil
				})
				time.Sleep(time.Hour)
				if diff := cmp.Diff(tt.want, got); diff != "" || x.Changed() {
					t.Errorf("told is (-want +got):\n%schanged: %v", diff, x.Changed())
				}
			})
		})
	}
}

// The interrupt of a wait is told as one, and not as the failure of the request that was under way.
func TestInterruptedAwait(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	x := New(&command.Command{Cluster: &cluster.Cluster{}, Options: command.Options{Wait: time.Minute}}, state.Request{})
	err := x.Await(ctx, "a", func(context.Context) ([]string, error) {
		cancel()
		return nil, errors.New("no answer from the cluster")
	})
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// Akash's label is given back only to objects that Akash's operators may read.
func TestMarkLabels(t *testing.T) {
	id := lease.ID{Owner: "akash1a", DSeq: 7, GSeq: 1, OSeq: 1, Provider: "akash1p"}
	for name, tt := range map[string]struct {
		has       map[string]string
		claimLike bool
		managed   string
		ours      string
	}{
		"a route that Akash knows":         {map[string]string{lease.LabelManaged: "true"}, false, "true", ""},
		"a route that Akash does not know": {nil, false, "", "true"},
		"a ProviderHost":                   {nil, true, "true", ""},
	} {
		got := markLabels(id, tt.has, tt.claimLike)
		if got[lease.LabelManaged] != tt.managed || got[lease.LabelOurs] != tt.ours {
			t.Errorf("%s: %v", name, got)
		}
		if is, ok := lease.IDFromLabels(got); !ok || is != id {
			t.Errorf("%s names lease %v", name, is)
		}
	}
}
