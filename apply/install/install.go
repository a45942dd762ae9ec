// Package install installs and uninstalls what the ledger needs: resource definitions, namespaces, roles, the
// configuration and the guard; and the reconciler in the cluster.
package install

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/engine/report"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/lease/managed"
	"github.com/akash-net/kubectl-akash-net/manifests"
	"github.com/akash-net/kubectl-akash-net/state"
)

// managedBy is the label of the objects that install creates; resource definitions without it are Akash's own.
const (
	managedBy   = "app.kubernetes.io/managed-by"
	managedByUs = "kubectl-akash-net"
)

// plurals maps the kinds that install writes to their resources.
var plurals = map[string]string{
	"CustomResourceDefinition": "customresourcedefinitions",
	"Namespace":                "namespaces",
	"ClusterRole":              "clusterroles",
	"Role":                     "roles",
	"ConfigMap":                "configmaps",

	"ClusterRoleBinding":  "clusterrolebindings",
	"RoleBinding":         "rolebindings",
	"ServiceAccount":      "serviceaccounts",
	"NetworkPolicy":       "networkpolicies",
	"Service":             "services",
	"PodDisruptionBudget": "poddisruptionbudgets",
	"Deployment":          "deployments",

	"ValidatingAdmissionPolicy":        "validatingadmissionpolicies",
	"ValidatingAdmissionPolicyBinding": "validatingadmissionpolicybindings",
}

// Installer installs and uninstalls what the ledger needs.
type Installer struct {
	Cluster *cluster.Cluster
	Config  *config.ProviderConfig
	// Version is the program's version, for the announcement of an uninstall.
	Version string
	// Workloads also installs the role for those who apply what leases run.
	Workloads bool
	// Reconciler is the image of a reconciler to install too; empty leaves one that runs as it is.
	Reconciler string
	// Show receives the lines of the configuration that Install removes (with "- ") and adds (with "+ "), before it does;
	// Warn what the new one has that leases do not get.
	Show func(lines []string)
	Warn func(lease.Problems)
	// Report receives the events.
	Report func(report.Event)
	// own is the announcement of this uninstall; its nonce is the mark on the ledger's namespace.
	own *state.Announcement
}

// Install installs Akash's resource definitions if they are missing, the namespaces, the roles, and a configuration if
// there is none. A document that is not empty replaces the configuration. If that would strand addresses in use, or
// leave too few for what orders have reserved, Install writes nothing and returns a StrandedError or an UnservedError.
func (i *Installer) Install(ctx context.Context, document string, guard Guard) error {
	if err := i.fitMetalLB(ctx, document); err != nil {
		return err
	}
	objects, err := i.objects(document, guard)
	if err != nil {
		return err
	}
	was, err := i.Cluster.ConfigMap(ctx, i.Config.LedgerNamespace)
	if err != nil {
		return err
	}
	check := i.checkLedger
	if document != "" {
		check = i.checkConfig
	}
	if err := check(ctx, was); err != nil {
		return err
	}
	if guard == GuardOn {
		if err := i.dropStrict(ctx); err != nil {
			return err
		}
	}
	for _, o := range objects {
		if o.GetKind() == "ConfigMap" && was != nil && document != "" {
			err = i.replaceConfig(ctx, was, o, document)
		} else {
			err = i.installObject(ctx, o, document)
		}
		if err != nil {
			return err
		}
	}
	if guard != GuardNone {
		return i.awaitGuard(ctx)
	}
	return nil
}

// objects returns what is to be installed, in order.
func (i *Installer) objects(document string, guard Guard) ([]*unstructured.Unstructured, error) {
	type part = func() ([]*unstructured.Unstructured, error)
	parts := []part{func() ([]*unstructured.Unstructured, error) { return manifests.All(i.Config, document) }}
	if i.Workloads {
		parts = append(parts, manifests.Workloads)
	}
	if guard != GuardNone {
		parts = append(parts, func() ([]*unstructured.Unstructured, error) { return manifests.Guard(i.Config, guard == GuardStrict) })
	}
	if i.Reconciler != "" {
		parts = append(parts, func() ([]*unstructured.Unstructured, error) { return manifests.Reconciler(i.Config, i.Reconciler) })
	}
	var all []*unstructured.Unstructured
	for _, read := range parts {
		objects, err := read()
		if err != nil {
			return nil, err
		}
		all = append(all, objects...)
	}
	return all, nil
}

func (i *Installer) installObject(ctx context.Context, o *unstructured.Unstructured, document string) error {
	if absent, err := i.lacksNamespace(ctx, o); err != nil || absent {
		return err
	}
	resource := resourceOf(o)
	live, err := i.get(ctx, o)
	if err != nil {
		return err
	}
	exists := live != nil
	if exists && live.GetDeletionTimestamp() != nil {
		if err := i.awaitDeleted(ctx, live); err != nil {
			return err
		}
		exists = false
	}
	if exists {
		if reason := leaveAlone(o, live, document); reason != "" {
			i.report(report.Kept, o, reason)
			if o.GetKind() == "CustomResourceDefinition" {
				return checkServes(o, live)
			}
			return nil
		}
	}
	var now *unstructured.Unstructured
	err = i.write(ctx, func(ctx context.Context) (err error) {
		now, err = i.client(o).Apply(ctx, o.GetName(), o, metav1.ApplyOptions{FieldManager: lease.FieldManager})
		return err
	})
	switch {
	case cluster.IsOwned(err):
		return &report.ConflictError{Object: o.GetKind() + "/" + o.GetName(), Managers: cluster.Owners(err), Differs: true, Err: err}
	case err != nil:
		return i.Cluster.Explain(err, "patch", resource)
	}
	action := report.Created
	if exists {
		action = changed(live, now)
	}
	if i.isLedger(o) {
		opened, err := i.ledger().Announcements.Open(ctx)
		if err != nil {
			return err
		}
		if opened {
			action = report.Configured
		}
	}
	i.report(action, o, "")
	if o.GetKind() == "CustomResourceDefinition" && i.Cluster.Waits() {
		return i.awaitEstablished(ctx, o)
	}
	return nil
}

func (i *Installer) client(o *unstructured.Unstructured) dynamic.ResourceInterface {
	return i.Cluster.Dynamic.Resource(resourceOf(o)).Namespace(o.GetNamespace())
}

// get reads an object as it is in the cluster, nil if there is none.
func (i *Installer) get(ctx context.Context, o *unstructured.Unstructured) (live *unstructured.Unstructured, err error) {
	err = i.Cluster.ReadOf(ctx, resourceOf(o), func() (err error) {
		live, err = i.client(o).Get(ctx, o.GetName(), metav1.GetOptions{})
		return err
	})
	if apierrors.IsNotFound(err) {
		return nil, nil //nolint:nilnil // absence is an answer
	}
	return live, i.Cluster.Explain(err, "get", resourceOf(o))
}

// write sends a write that may be sent twice, and again while it is not known whether it was done.
func (i *Installer) write(ctx context.Context, do func(context.Context) error) error {
	var last error
	err := i.Cluster.Retry(ctx, func(ctx context.Context) (bool, error) {
		if last = i.Cluster.Write(ctx, do); last != nil && cluster.IsUnclear(last) && ctx.Err() == nil {
			return false, nil
		}
		return last == nil, last
	})
	if errors.Is(err, cluster.ErrMoving) {
		return last
	}
	return err
}

// changed returns what a write has done to an object that existed.
func changed(live, now *unstructured.Unstructured) report.Action {
	if now.GetResourceVersion() == live.GetResourceVersion() {
		return report.Unchanged
	}
	return report.Configured
}

// lacksNamespace reports whether an object belongs in the namespace of Akash's operators, and that namespace does not exist
// or is being deleted. Install does not create it.
func (i *Installer) lacksNamespace(ctx context.Context, o *unstructured.Unstructured) (bool, error) {
	if o.GetNamespace() != manifests.OperatorsNamespace || o.GetNamespace() == i.Config.LedgerNamespace {
		return false, nil
	}
	in, err := i.Cluster.Get(ctx, kinds.Namespace, "", o.GetNamespace())
	if err != nil || in != nil && in.GetDeletionTimestamp() == nil {
		return false, err
	}
	i.report(report.Skipped, o, "there is no namespace "+o.GetNamespace()+"; where Akash's operators run, install again brings it")
	return true, nil
}

// leaveAlone returns why an existing object must not be changed, or "".
func leaveAlone(o, live *unstructured.Unstructured, document string) string {
	switch {
	case o.GetKind() == "CustomResourceDefinition" && !isOurs(live):
		return "it is there already, from Akash's provider"
	case o.GetKind() == "ConfigMap" && document == "":
		return leaveConfig(live)
	}
	return ""
}

// isOurs reports whether only this program has written a resource definition. When somebody applies Akash's own over it,
// our label stays.
func isOurs(crd *unstructured.Unstructured) bool {
	for e := range managed.Of(crd) {
		if e.Manager != lease.FieldManager && e.Owns("spec") {
			return false
		}
	}
	return crd.GetLabels()[managedBy] == managedByUs
}

// checkServes returns an error if a resource definition of Akash's does not serve the versions that this program writes.
func checkServes(o, live *unstructured.Unstructured) error {
	served := func(crd *unstructured.Unstructured) []string {
		var names []string
		versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
		for _, v := range versions {
			if v, ok := v.(map[string]any); ok && v["served"] == true {
				names = append(names, fmt.Sprint(v["name"]))
			}
		}
		return names
	}
	for _, version := range served(o) {
		if !slices.Contains(served(live), version) {
			return fmt.Errorf("resource definition %s does not serve %s, which this program needs; it serves %s: upgrade Akash's provider",
				o.GetName(), version, strings.Join(served(live), ", "))
		}
	}
	return nil
}

func resourceOf(o *unstructured.Unstructured) schema.GroupVersionResource {
	return o.GroupVersionKind().GroupVersion().WithResource(plurals[o.GetKind()])
}

func (i *Installer) report(action report.Action, o *unstructured.Unstructured, message string) {
	i.Report(report.Event{
		Time: time.Now(), Action: action,
		Kind: strings.ToLower(o.GetKind()), Namespace: o.GetNamespace(), Name: o.GetName(), Message: message,
	})
}

// awaitDeleted waits until an object that is being deleted is gone. A dry run does not wait.
func (i *Installer) awaitDeleted(ctx context.Context, o *unstructured.Unstructured) error {
	what := strings.ToLower(o.GetKind()) + "/" + o.GetName()
	if !i.Cluster.Waits() {
		i.report(report.Skipped, o, "it is being deleted; install waits until it is gone, and creates it")
		return nil
	}
	i.report(report.Waiting, o, "it is being deleted")
	err := wait.PollUntilContextTimeout(ctx, 250*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		now, err := i.get(ctx, o)
		return err == nil && (now == nil || now.GetUID() != o.GetUID()), err
	})
	if wait.Interrupted(err) && ctx.Err() == nil {
		return fmt.Errorf("%w\nIts finalizers, or those of what is in it, keep it: \"kubectl describe %s\" says which. Run install again when it is gone",
			&report.TimeoutError{After: time.Minute, Waiting: []string{what + " to be gone, which is being deleted"}}, what)
	}
	return err
}

// awaitEstablished waits until the API server serves a resource definition.
func (i *Installer) awaitEstablished(ctx context.Context, o *unstructured.Unstructured) error {
	err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		crd, err := i.get(ctx, o)
		if err != nil || crd == nil {
			return false, err
		}
		conditions, _, _ := unstructured.NestedSlice(crd.Object, "status", "conditions")
		for _, c := range conditions {
			if c, ok := c.(map[string]any); ok && c["type"] == "Established" && c["status"] == "True" {
				return true, nil
			}
		}
		return false, nil
	})
	if wait.Interrupted(err) && ctx.Err() == nil {
		return &report.TimeoutError{After: time.Minute, Waiting: []string{"resource definition " + o.GetName() + " to be served"}}
	}
	return err
}
