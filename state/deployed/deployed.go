// Package deployed decides about the objects that a lease runs: whose they are, which of them to delete, and what to
// keep of the objects in the cluster. It is pure: package apply/workloads reads the objects and carries out the
// decisions.
package deployed

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/lease/managed"
	"github.com/akash-net/kubectl-akash-net/lease/workload"
)

// Standing is who deployed an object, as seen by a lease that wants an object of its kind and name.
type Standing int

// The standings.
const (
	// Absent objects do not exist.
	Absent Standing = iota
	// Ours were applied by the field manager of the lease.
	Ours
	// Akashs have the labels of the lease but were not applied by this program: Akash's provider deployed them.
	Akashs
	// Foreign objects have neither: somebody else created them.
	Foreign
)

// StandingOf returns the standing of an object for the deployment group's lease in the namespace. An Update can strip
// managed fields and so turn Ours into Akashs, but it never turns Foreign into Ours.
func StandingOf(o *unstructured.Unstructured, g lease.Group, namespace string) Standing {
	if o == nil {
		return Absent
	}
	if isOurs(o, g) {
		return Ours
	}
	if labels := o.GetLabels(); labels[lease.LabelManaged] == "true" && labels[lease.LabelNamespace] == namespace {
		return Akashs
	}
	return Foreign
}

// isOurs reports whether the field manager of the deployment group's lease has applied the object.
func isOurs(o metav1.Object, g lease.Group) bool {
	e, ok := managed.Applied(o, g.FieldManager())
	return ok && e.Owns("metadata", "labels", lease.LabelManaged)
}

// Manifest says that this program runs something for a deployment group in a namespace.
type Manifest struct {
	Group     lease.Group
	Namespace string
	// Written is when somebody last wrote it. Deleting is true for one that is being deleted.
	Written  time.Time
	Deleting bool
}

// ReadManifest reads the metadata of a Manifest, which is named after the namespace. ok is false unless the lease that its
// labels name has applied it.
func ReadManifest(meta *metav1.ObjectMeta) (m Manifest, ok bool) {
	g, err := lease.ParseGroup(strings.Join([]string{
		meta.Labels[lease.LabelOwner], meta.Labels[lease.LabelDSeq], meta.Labels[lease.LabelGSeq],
	}, "/"))
	if err != nil || !isOurs(meta, g) {
		return Manifest{}, false
	}
	return Manifest{Group: g, Namespace: meta.Name, Written: managed.LastWritten(meta), Deleting: meta.DeletionTimestamp != nil}, true
}

// Managers returns the field managers of an object, each once, sorted, without those of subresources.
func Managers(o *unstructured.Unstructured) []string {
	var names []string
	for e := range managed.Of(o) {
		names = append(names, e.Manager)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Object is one object in the cluster.
type Object struct {
	Kind kinds.Kind
	Live *unstructured.Unstructured
}

// Key identifies an object of a lease by kind and name.
type Key struct{ Kind, Name string }

// Key returns the key of the object.
func (o Object) Key() Key { return Key{o.Kind.Kind, o.Live.GetName()} }

// Unwanted returns the objects that the lease has applied and no longer wants, in the order to delete them. Secrets in
// keep stay: the definition has their credentials but no password. Without prune it returns only objects that another
// one replaces: of a Deployment and a StatefulSet with the same name, only one may serve.
func Unwanted(live []Object, g lease.Group, wanted, keep map[Key]bool, prune bool) []Object {
	return slices.DeleteFunc(Release(live, g), func(o Object) bool {
		k := o.Key()
		return o.Live.GetDeletionTimestamp() != nil || wanted[k] || keep[k] || !prune && !wanted[otherKind(k)]
	})
}

// Release returns all objects that the lease has applied, in the order to delete them. The Manifest comes last, because
// it shows that there are more. Objects that are being deleted are included: the lease is released once they are gone.
func Release(live []Object, g lease.Group) []Object {
	var out []Object
	for _, kind := range kinds.RunningEnds {
		for _, o := range live {
			if o.Kind == kind && StandingOf(o.Live, g, "") == Ours {
				out = append(out, o)
			}
		}
	}
	return out
}

// otherKind returns the key of the object that would run the same service as the other kind of workload, or the zero
// key.
func otherKind(k Key) Key {
	switch k.Kind {
	case kinds.Deployment.Kind:
		return Key{kinds.StatefulSet.Kind, k.Name}
	case kinds.StatefulSet.Kind:
		return Key{kinds.Deployment.Kind, k.Name}
	}
	return Key{}
}

// derived are the resources that controllers create for Deployments and StatefulSets with the labels of their pods.
var derived = []string{"pods", "replicasets.apps", "controllerrevisions.apps", "persistentvolumeclaims"}

// Derived reports whether controllers created the object for a workload of the lease in the namespace: a pod, or a
// volume claim of one. If the Deployment or StatefulSet is gone, nothing else needs the object.
func Derived(resource schema.GroupResource, labels map[string]string, namespace string) bool {
	return slices.Contains(derived, resource.String()) && labels[lease.LabelManaged] == "true" &&
		labels[lease.LabelNamespace] == namespace && labels[lease.LabelService] != ""
}

// Akash's provider repeats the ports and variables of a container that an SDL repeats. It writes by Update, which
// allows repetitions. An apply does not: it would replace all of them by one entry, which restarts the pod. So this
// program leaves such a list alone if it means the same as the wanted one.

// lists are the lists of a container that may have repetitions. Each function returns the key of an entry.
var lists = map[string]func(entry map[string]any) string{
	"env": func(e map[string]any) string { return fmt.Sprint(e["name"]) },
	"ports": func(e map[string]any) string {
		if e["protocol"] == nil {
			return fmt.Sprint(e["containerPort"], "/TCP")
		}
		return fmt.Sprint(e["containerPort"], "/", e["protocol"])
	},
}

// LeaveRepeated returns the wanted object without the lists of containers that have repetitions in the live object and
// mean the same there. It returns want itself if there are none.
func LeaveRepeated(want, live map[string]any) map[string]any {
	var out map[string]any
	for i, container := range containers(want) {
		there := containerOf(live, container["name"])
		for list, key := range lists {
			wanted, _ := container[list].([]any)
			has, _ := there[list].([]any)
			if !meansSame(has, wanted, key) {
				continue
			}
			if out == nil {
				out = runtime.DeepCopyJSON(want)
			}
			delete(containers(out)[i], list)
		}
	}
	if out == nil {
		return want
	}
	return out
}

// meansSame reports whether has contains repetitions and means the same as wanted.
func meansSame(has, wanted []any, key func(map[string]any) string) bool {
	last := map[string]any{}
	for _, v := range has {
		entry, ok := v.(map[string]any)
		if !ok {
			return false
		}
		last[key(entry)] = entry // the last entry of a variable counts
	}
	if len(last) == len(has) || len(last) != len(wanted) {
		return false
	}
	for _, v := range wanted {
		entry, ok := v.(map[string]any)
		if !ok {
			return false
		}
		there, found := last[key(entry)]
		if !found || !managed.Contains(there, entry) || valueOf(there) != valueOf(entry) {
			return false
		}
	}
	return true
}

// variable is the value of a variable: a literal text, or a reference elsewhere in the cluster.
type variable struct {
	text      string
	elsewhere bool
}

// valueOf returns the value of a variable. It returns the zero value for an entry that is not a variable.
func valueOf(entry any) (v variable) {
	if fields, _ := entry.(map[string]any); fields["name"] != nil {
		v.text, _ = fields["value"].(string)
		v.elsewhere = fields["valueFrom"] != nil
	}
	return v
}

// containers returns the containers in the pod template of a workload.
func containers(o map[string]any) []map[string]any {
	var out []map[string]any
	v, _, _ := unstructured.NestedFieldNoCopy(o, "spec", "template", "spec", "containers")
	list, _ := v.([]any)
	for _, v := range list {
		if c, ok := v.(map[string]any); ok {
			out = append(out, c)
		}
	}
	return out
}

func containerOf(o map[string]any, name any) map[string]any {
	for _, c := range containers(o) {
		if c["name"] == name {
			return c
		}
	}
	return nil
}

// LeaveDropped returns the wanted object without a field that API servers may drop: maxUnavailable of a StatefulSet, if
// it is 1, the default. The field has a feature gate. An object that is sent to a server that drops it would never
// match what is wanted.
func LeaveDropped(want map[string]any) map[string]any {
	path := []string{"spec", "updateStrategy", "rollingUpdate", "maxUnavailable"}
	if n, found, _ := unstructured.NestedInt64(want, path...); want["kind"] != "StatefulSet" || !found || n != 1 {
		return want
	}
	want = runtime.DeepCopyJSON(want)
	unstructured.RemoveNestedField(want, path...)
	return want
}

// Lacking is a service whose credentials have no password in the definition or in the cluster.
type Lacking struct {
	Service, Secret string
	// There is true if the Secret exists but is for another registry or user. It is not changed.
	There bool
	At    lease.Place
}

// WithPasswords returns the definition with passwords from the cluster where the definition has none, as in one that
// was printed or kept. secret returns the Secret with a name, or nil. A password is used only if registry and user are
// the same.
func WithPasswords(def *lease.Definition, secret func(name string) *unstructured.Unstructured) (*lease.Definition, []Lacking) {
	var lacking []Lacking
	out := def
	for i, w := range def.Workloads.Services {
		if w.Credentials == nil || w.Credentials.Password != "" {
			continue
		}
		name := workload.SecretPrefix + w.Name
		there := secret(name)
		password := passwordOf(there, w.Credentials)
		if password == "" {
			lacking = append(lacking, Lacking{Service: w.Name, Secret: name, There: there != nil, At: w.Credentials.At})
			continue
		}
		if out == def {
			runs := *def.Workloads
			runs.Services = slices.Clone(runs.Services)
			whole := *def
			whole.Workloads, out = &runs, &whole
		}
		credentials := *w.Credentials
		credentials.Password = password
		out.Workloads.Services[i].Credentials = &credentials
	}
	return out, lacking
}

// passwordOf returns the password in the Secret for the user at the registry, or "".
func passwordOf(secret *unstructured.Unstructured, k *lease.Credentials) string {
	if secret == nil {
		return ""
	}
	text, _, _ := unstructured.NestedString(secret.Object, "data", corev1.DockerConfigJsonKey)
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return ""
	}
	var file struct {
		Auths map[string]struct{ Username, Password string } `json:"auths"`
	}
	if json.Unmarshal(data, &file) != nil {
		return ""
	}
	auth, known := file.Auths[k.Host]
	if !known || auth.Username != strings.TrimSpace(k.Username) {
		return ""
	}
	return auth.Password
}

// Scheduled returns the GPUs that an earlier reservation chose, by the ID of the resource unit. before is the
// definition of the Manifest in the cluster, or nil. A choice stays valid while the unit asks for the same GPUs.
func Scheduled(def, before *lease.Definition) map[uint32]*lease.SchedulerParams {
	out := map[uint32]*lease.SchedulerParams{}
	if before == nil || before.Workloads == nil || def.Workloads == nil {
		return out
	}
	for i := range def.Workloads.Services {
		w := &def.Workloads.Services[i]
		for j := range before.Workloads.Services {
			was := &before.Workloads.Services[j]
			if was.Scheduler != nil && was.Resources.ID == w.Resources.ID && reflect.DeepEqual(was.Resources.GPU, w.Resources.GPU) {
				out[w.Resources.ID] = was.Scheduler
			}
		}
	}
	return out
}
