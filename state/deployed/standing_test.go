package deployed

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/managed"
)

var (
	group   = lease.Group{Owner: "akash1h24fljt7p0nh82cq0za0uhsct3sfwsfu9w3c9h", DSeq: 8438017, GSeq: 1}
	another = lease.Group{Owner: group.Owner, DSeq: 2, GSeq: 1}
)

const namespace = "ns"

// object reads an object from YAML.
func object(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	body, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	o := map[string]any{}
	if err := json.Unmarshal(body, &o); err != nil {
		t.Fatal(err)
	}
	return &unstructured.Unstructured{Object: o}
}

// written returns an object with the labels of a namespace, written by managers: "name" by Update, "name!" by Apply.
func written(t *testing.T, kind, name, of string, managers ...string) *unstructured.Unstructured {
	t.Helper()
	o := object(t, "{kind: "+kind+", metadata: {name: "+name+", namespace: ns}}")
	if of != "" {
		o.SetLabels(map[string]string{lease.LabelManaged: "true", lease.LabelNamespace: of})
	}
	var entries []metav1.ManagedFieldsEntry
	for _, m := range managers {
		e := metav1.ManagedFieldsEntry{Manager: m, Operation: metav1.ManagedFieldsOperationUpdate, FieldsType: "FieldsV1", FieldsV1: &metav1.FieldsV1{}}
		if bare, applied := strings.CutSuffix(m, "!"); applied {
			e.Manager, e.Operation = bare, metav1.ManagedFieldsOperationApply
		}
		e.FieldsV1.SetRawBytes([]byte(`{"f:metadata":{"f:labels":{"f:akash.network":{}}}}`))
		entries = append(entries, e)
	}
	o.SetManagedFields(entries)
	return o
}

// The managers decide whose an object is, then its labels.
func TestStandingOf(t *testing.T) {
	mine := group.FieldManager() + "!"
	for name, tt := range map[string]struct {
		o    *unstructured.Unstructured
		want Standing
	}{
		"nothing":                  {nil, Absent},
		"applied":                  {written(t, "Deployment", "web", namespace, mine), Ours},
		"applied, and scaled":      {written(t, "Deployment", "web", namespace, mine, "kubectl"), Ours},
		"adopted by half":          {written(t, "Deployment", "web", namespace, managed.Akash, mine), Ours},
		"applied, labels lost":     {written(t, "Deployment", "web", "", mine), Ours},
		"updated under our name":   {written(t, "Deployment", "web", namespace, group.FieldManager()), Akashs},
		"of Akash's provider":      {written(t, "Deployment", "web", namespace, managed.Akash), Akashs},
		"restored from a backup":   {written(t, "Deployment", "web", namespace, "velero-server"), Akashs},
		"without managers":         {written(t, "Deployment", "web", namespace), Akashs},
		"of another lease":         {written(t, "Deployment", "web", "other", managed.Akash), Foreign},
		"of another group's lease": {written(t, "Deployment", "web", "other", another.FieldManager()+"!"), Foreign},
		"of this program's routes": {written(t, "Service", "web", "", lease.FieldManager+"!"), Foreign},
		"somebody else's":          {written(t, "ServiceAccount", "default", "", "kube-controller-manager"), Foreign},
	} {
		if got := StandingOf(tt.o, group, namespace); got != tt.want {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
}

// An annotation that our manager wrote without the labels does not make the object ours.
func TestANoteIsNoOwnership(t *testing.T) {
	o := written(t, "Deployment", "web", "", group.FieldManager()+"!")
	entries := o.GetManagedFields()
	entries[0].FieldsV1.SetRawBytes([]byte(`{"f:metadata":{"f:annotations":{"f:note":{}}}}`))
	o.SetManagedFields(entries)
	if got := StandingOf(o, group, namespace); got != Foreign {
		t.Errorf("it stands as %v", got)
	}
}

// A Manifest says what this program runs if the lease that its labels name has applied it.
func TestReadManifest(t *testing.T) {
	mine, at := group.FieldManager()+"!", time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	of := func(g lease.Group) map[string]string {
		return map[string]string{lease.LabelOwner: g.Owner, lease.LabelDSeq: fmt.Sprint(g.DSeq), lease.LabelGSeq: fmt.Sprint(g.GSeq)}
	}
	for name, tt := range map[string]struct {
		labels   map[string]string
		managers []string
		ours     bool
	}{
		"applied":                      {of(group), []string{mine}, true},
		"adopted by half":              {of(group), []string{managed.Akash, mine}, true},
		"of Akash's provider":          {of(group), []string{managed.Akash}, false},
		"updated under our name":       {of(group), []string{group.FieldManager()}, false},
		"labelled for another lease":   {of(another), []string{mine}, false},
		"applied by another lease":     {of(group), []string{another.FieldManager() + "!"}, false},
		"it names no lease":            {nil, []string{mine}, false},
		"restored, without managers":   {of(group), nil, false},
		"applied by this program only": {of(group), []string{lease.FieldManager + "!"}, false},
	} {
		o := written(t, "Manifest", namespace, namespace, tt.managers...)
		fields := o.GetManagedFields()
		for i := range fields {
			fields[i].Time = &metav1.Time{Time: at}
		}
		meta := &metav1.ObjectMeta{Name: namespace, Namespace: "lease", Labels: tt.labels, ManagedFields: fields}
		m, ours := ReadManifest(meta)
		if want := (Manifest{Group: group, Namespace: namespace, Written: at}); ours != tt.ours || ours && m != want {
			t.Errorf("%s: %+v, %v", name, m, ours)
		}
		meta.DeletionTimestamp = &metav1.Time{Time: at}
		if m, ours := ReadManifest(meta); ours && !m.Deleting {
			t.Errorf("%s: it is not being deleted: %+v", name, m)
		}
	}
}

func TestManagers(t *testing.T) {
	o := written(t, "Deployment", "web", namespace, "b", "a", "b!")
	if got := Managers(o); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("managers %q", got)
	}
	if got := Managers(written(t, "Deployment", "web", namespace)); got != nil {
		t.Errorf("managers %q of nobody", got)
	}
}

// cluster returns objects of ours, of Akash's and of somebody else.
func cluster(t *testing.T) []Object {
	mine := group.FieldManager() + "!"
	going := written(t, "Deployment", "going", namespace, mine)
	going.SetDeletionTimestamp(&metav1.Time{})
	now := metav1.Now()
	going.SetDeletionTimestamp(&now)
	return []Object{
		{kinds.Manifest, written(t, "Manifest", namespace, namespace, mine)},
		{kinds.Secret, written(t, "Secret", "docker-creds-web", namespace, mine)},
		{kinds.Role, written(t, "Role", "web", namespace, mine)},
		{kinds.RoleBinding, written(t, "RoleBinding", "web", namespace, mine)},
		{kinds.Deployment, written(t, "Deployment", "web", namespace, mine)},
		{kinds.Deployment, written(t, "Deployment", "akashs", namespace, managed.Akash)},
		{kinds.Deployment, written(t, "Deployment", "foreign", "", "kubectl")},
		{kinds.Deployment, going},
		{kinds.Service, written(t, "Service", "web", namespace, mine)},
		{kinds.Service, written(t, "Service", "web-ip-443-tcp", namespace, lease.FieldManager+"!")},
		{kinds.StatefulSet, written(t, "StatefulSet", "db", namespace, mine)},
	}
}

func keys(objects []Object) (out []string) {
	for _, o := range objects {
		out = append(out, o.Key().Kind+"/"+o.Key().Name)
	}
	return out
}

func keyset(names ...string) map[Key]bool {
	out := map[Key]bool{}
	for _, n := range names {
		kind, name, _ := strings.Cut(n, "/")
		out[Key{kind, name}] = true
	}
	return out
}

// Only our objects are deleted, in the order of deletion. Wanted objects and kept Secrets stay.
func TestUnwanted(t *testing.T) {
	for name, tt := range map[string]struct {
		wanted, keep map[Key]bool
		prune        bool
		want         []string
	}{
		"nothing is wanted": {prune: true, want: []string{"Service/web", "Deployment/web", "StatefulSet/db", "RoleBinding/web", "Role/web", "Secret/docker-creds-web", "Manifest/ns"}},
		"all is wanted":     {wanted: keyset("Service/web", "Deployment/web", "StatefulSet/db", "RoleBinding/web", "Role/web", "Secret/docker-creds-web", "Manifest/ns"), prune: true},
		"a Secret is kept":  {keep: keyset("Secret/docker-creds-web"), prune: true, want: []string{"Service/web", "Deployment/web", "StatefulSet/db", "RoleBinding/web", "Role/web", "Manifest/ns"}},
		"another kind of the name": {
			wanted: keyset("Service/web", "StatefulSet/web", "StatefulSet/db", "RoleBinding/web", "Role/web", "Secret/docker-creds-web", "Manifest/ns"), prune: true, want: []string{"Deployment/web"},
		},
		"without pruning":                      {want: nil},
		"without pruning, it becomes stateful": {wanted: keyset("StatefulSet/web"), want: []string{"Deployment/web"}},
		"without pruning, and back":            {wanted: keyset("Deployment/db"), want: []string{"StatefulSet/db"}},
		"Akash's has a twin":                   {wanted: keyset("StatefulSet/akashs", "StatefulSet/foreign"), want: nil},
	} {
		if diff := cmp.Diff(tt.want, keys(Unwanted(cluster(t), group, tt.wanted, tt.keep, tt.prune))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if got := Unwanted(cluster(t), another, nil, nil, true); len(got) > 0 {
		t.Errorf("of another group %q go", keys(got))
	}
}

// A release deletes all our objects and waits for those that are being deleted. The Manifest comes last, because it
// shows that there are more.
func TestRelease(t *testing.T) {
	got := keys(Release(cluster(t), group))
	if len(got) != 8 || !slices.Contains(got, "Deployment/going") || got[len(got)-1] != "Manifest/ns" || slices.Index(got, "RoleBinding/web") > slices.Index(got, "Role/web") {
		t.Errorf("it releases %q", got)
	}
}

// Each kind that is written is deleted too, in reverse order.
func TestKindsOfWhatRuns(t *testing.T) {
	written := slices.Concat(kinds.Running...)
	if len(written) != len(kinds.RunningEnds) {
		t.Errorf("%d kinds are written, %d deleted", len(written), len(kinds.RunningEnds))
	}
	for _, k := range written {
		if !slices.Contains(kinds.RunningEnds, k) {
			t.Errorf("%s is written and not deleted", k.Kind)
		}
	}
	if written[0] != kinds.Manifest || kinds.RunningEnds[len(kinds.RunningEnds)-1] != kinds.Manifest {
		t.Error("the Manifest is not written first and deleted last")
	}
}

func TestDerived(t *testing.T) {
	pod := map[string]string{lease.LabelManaged: "true", lease.LabelNamespace: namespace, lease.LabelService: "web"}
	for _, tt := range []struct {
		resource string
		labels   map[string]string
		want     bool
	}{
		{"pods", pod, true},
		{"replicasets.apps", pod, true},
		{"controllerrevisions.apps", pod, true},
		{"persistentvolumeclaims", pod, true},
		{"deployments.apps", pod, false},
		{"secrets", pod, false},
		{"configmaps", pod, false},
		{"pods", nil, false},
		{"pods", map[string]string{lease.LabelManaged: "true", lease.LabelNamespace: "other", lease.LabelService: "web"}, false},
		{"pods", map[string]string{lease.LabelManaged: "true", lease.LabelNamespace: namespace}, false},
		{"persistentvolumeclaims", map[string]string{"app": "web"}, false},
	} {
		if got := Derived(schema.ParseGroupResource(tt.resource), tt.labels, namespace); got != tt.want {
			t.Errorf("%s %v: %v", tt.resource, tt.labels, got)
		}
	}
}

func ExampleKey() {
	fmt.Println(otherKind(Key{"Deployment", "web"}), otherKind(Key{"StatefulSet", "db"}), otherKind(Key{"Service", "web"}))
	// Output: {StatefulSet web} {Deployment db} { }
}
