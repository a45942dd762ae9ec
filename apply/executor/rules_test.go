package executor

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/command"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/report"
	"github.com/akash-net/kubectl-akash-net/state"
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

func TestLeaveGiven(t *testing.T) {
	const live = "{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {clusterIP: 10.0.0.1, clusterIPs: [10.0.0.1], type: LoadBalancer, " +
		"ports: [{port: 80, protocol: TCP, nodePort: 30000}]}}"
	for name, c := range map[string]struct{ fields, want string }{
		"only the owned fields stay":                                        {`{"f:spec": {"f:type": {}, "f:ports": {"k:{\"port\":80,\"protocol\":\"TCP\"}": {".": {}, "f:port": {}}}}}`, "{type: LoadBalancer, ports: [{port: 80}]}"},
		"without managed fields the cluster IPs and node ports are removed": {"", "{type: LoadBalancer, ports: [{port: 80, protocol: TCP}]}"},
		"managed fields without a spec count as none":                       {`{"f:metadata": {"f:labels": {"f:l": {}}}}`, "{type: LoadBalancer, ports: [{port: 80, protocol: TCP}]}"},
	} {
		o := parse(t, live)
		if c.fields != "" {
			owned(o, lease.FieldManager, c.fields)
		}
		service := Applied(o)
		if err := LeaveGiven(service, o); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(parse(t, c.want).Object, service.Object["spec"]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// An object is applied again with its own labels and annotations; those of others stay theirs.
func TestApplied(t *testing.T) {
	const text = "{apiVersion: v1, kind: A, metadata: {name: a, namespace: ns, uid: u, resourceVersion: \"7\", labels: {ours: a, theirs: b}, " +
		"annotations: {ours: a, theirs: b}}, spec: {x: 1}, status: {y: 2}}"
	const metadata = `{"f:metadata": {"f:labels": {"f:ours": {}}, "f:annotations": {"f:ours": {}}}`
	for name, c := range map[string]struct {
		fields string
		only   bool
		want   string
	}{
		"the spec, and what the manager owns of the metadata": {metadata + "}", false, "{apiVersion: v1, kind: A, metadata: {name: a, namespace: ns, labels: {ours: a}, annotations: {ours: a}}, spec: {x: 1}}"},
		"a route whose spec the manager owns is pinned": {metadata + `, "f:spec": {"f:x": {}}}`, true,
			"{apiVersion: v1, kind: A, metadata: {name: a, namespace: ns, uid: u, resourceVersion: \"7\", labels: {ours: a}, annotations: {ours: a}}, spec: {x: 1}}"},
		"a route whose spec another manager owns is left alone": {metadata + "}", true, "{apiVersion: v1, kind: A, metadata: {name: a, namespace: ns, uid: u, resourceVersion: \"7\", labels: {ours: a}, annotations: {ours: a}}}"},
	} {
		live := owned(owned(parse(t, text), lease.FieldManager, c.fields), "other", `{"f:spec": {"f:x": {}}}`)
		got := Applied(live)
		if c.only {
			got = AppliedOnly(live)
		}
		if diff := cmp.Diff(parse(t, c.want).Object, got.Object); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
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
				_ = x.Poll(t.Context(), "a", func(context.Context) (bool, error) { return time.Since(since) >= tt.takes, nil })
				time.Sleep(time.Hour)
				if diff := cmp.Diff(tt.want, got); diff != "" || x.Changed() {
					t.Errorf("told is (-want +got):\n%schanged: %v", diff, x.Changed())
				}
			})
		})
	}
}
