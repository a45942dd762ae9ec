package deployed

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/lease/managed"
	"github.com/akash-net/kubectl-akash-net/test/golden"
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

// Whose objects are and which of them go: testdata/standing.txt. Managers are ours, other (of another deployment group), akash, routes (this
// program's own), or names, each with "!" where it applied.
//
//	object    the namespace of its labels or "-", and its managers, which decide before the labels; "none" is no object
//	manifest  the lease that its labels name or "-", and its managers
//	unwanted  [prune] [want=KIND/NAME,...] [keep=KIND/NAME,...] of the objects of cluster: only ours go, in the order of deletion
//	derived   RESOURCE [of=NAMESPACE] [service=NAME] [app=NAME]: whether a workload of the lease's namespace made it
func TestStanding(t *testing.T) {
	named := strings.NewReplacer("ours", group.FieldManager(), "other", another.FieldManager(), "akash", managed.Akash, "routes", lease.FieldManager)
	at := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	split := func(line string) (first string, managers []string) {
		words := strings.Fields(line)
		for _, word := range words[1:] {
			managers = append(managers, named.Replace(word))
		}
		return strings.Trim(words[0], "-"), managers
	}
	golden.Rules{
		"object": func(line string) string {
			of, managers := split(line)
			o := written(t, "Deployment", "web", of, managers...)
			if of == "none" {
				o = nil
			}
			return map[Standing]string{Absent: "absent", Ours: "ours", Akashs: "Akash's", Foreign: "foreign"}[StandingOf(o, group, namespace)]
		},
		"manifest": func(line string) string {
			of, managers := split(line)
			meta := &metav1.ObjectMeta{Name: namespace, Namespace: "lease", ManagedFields: written(t, "Manifest", namespace, namespace, managers...).GetManagedFields()}
			for i := range meta.ManagedFields {
				meta.ManagedFields[i].Time = &metav1.Time{Time: at}
			}
			if g, labelled := map[string]lease.Group{"group": group, "another": another}[of]; labelled {
				meta.Labels = map[string]string{lease.LabelOwner: g.Owner, lease.LabelDSeq: fmt.Sprint(g.DSeq), lease.LabelGSeq: fmt.Sprint(g.GSeq)}
			}
			m, ours := ReadManifest(meta)
			if want := (Manifest{Group: group, Namespace: namespace, Written: at}); ours && m != want {
				t.Errorf("%s: %+v", line, m)
			}
			meta.DeletionTimestamp = &metav1.Time{Time: at}
			if m, again := ReadManifest(meta); again != ours || ours && !m.Deleting {
				t.Errorf("%s: it is not being deleted: %+v", line, m)
			}
			return fmt.Sprint(ours)
		},
		"unwanted": func(line string) string {
			sets := map[string]map[Key]bool{"want": {}, "keep": {}}
			for _, word := range strings.Fields(line) {
				set, names, _ := strings.Cut(word, "=")
				for _, n := range strings.Split(names, ",") {
					if kind, name, ok := strings.Cut(n, "/"); ok {
						sets[set][Key{kind, name}] = true
					}
				}
			}
			return strings.Join(keys(Unwanted(cluster(t), group, sets["want"], sets["keep"], strings.Contains(line, "prune"))), " ")
		},
		"derived": func(line string) string {
			words := strings.Fields(line)
			labels := map[string]string{}
			for _, word := range words[1:] {
				switch name, value, _ := strings.Cut(word, "="); name {
				case "of":
					labels[lease.LabelManaged], labels[lease.LabelNamespace] = "true", value
				case "service":
					labels[lease.LabelService] = value
				default:
					labels[name] = value
				}
			}
			return fmt.Sprint(Derived(schema.ParseGroupResource(words[0]), labels, namespace))
		},
	}.Check(t, "testdata/standing.txt")
	if got := Unwanted(cluster(t), another, nil, nil, true); len(got) > 0 {
		t.Errorf("of another group %q go", keys(got))
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

func ExampleKey() {
	fmt.Println(otherKind(Key{"Deployment", "web"}), otherKind(Key{"StatefulSet", "db"}), otherKind(Key{"Service", "web"}))
	// Output: {StatefulSet web} {Deployment db} { }
}
