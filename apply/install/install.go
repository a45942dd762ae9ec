// Package install brings a cluster what the ledger needs (resource definitions, namespaces, roles, the
// configuration, the guard) and takes it away.
package install

import (
	"context"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/report"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/manifests"
)

// managedBy marks what install made; resource definitions without it are Akash's own.
const (
	managedBy   = "app.kubernetes.io/managed-by"
	managedByUs = "kubectl-akash-net"
)

// plurals are the resources of the kinds that install writes.
var plurals = map[string]string{
	"CustomResourceDefinition": "customresourcedefinitions",
	"Namespace":                "namespaces",
	"ClusterRole":              "clusterroles",
	"Role":                     "roles",
	"ConfigMap":                "configmaps",

	"ValidatingAdmissionPolicy":        "validatingadmissionpolicies",
	"ValidatingAdmissionPolicyBinding": "validatingadmissionpolicybindings",
}

// Installer brings a cluster what the ledger needs, and takes it away.
type Installer struct {
	Cluster *cluster.Cluster
	Config  *config.ProviderConfig
	// Version is that of the program, for what an uninstall announces.
	Version string
	// Workloads is true where the role of those who apply what leases run is brought too.
	Workloads bool
	// Report receives the events.
	Report func(report.Event)

	// nonce is that of what this uninstall announces, and its mark on the ledger's namespace.
	nonce string
}

// Install brings the cluster what the ledger needs: Akash's resource definitions where they are
// missing, the namespaces, the roles, and the configuration where there is none (document
// replaces it, where it is not empty). A document that would strand addresses in use is a StrandedError, and
// then nothing is written.
func (i *Installer) Install(ctx context.Context, document string, guard Guard) error {
	objects, err := manifests.All(i.Config, document)
	if err != nil {
		return err
	}
	if i.Workloads {
		roles, err := manifests.Workloads()
		if err != nil {
			return err
		}
		objects = append(objects, roles...)
	}
	if guard != GuardNone {
		policies, err := manifests.Guard(i.Config, guard == GuardStrict)
		if err != nil {
			return err
		}
		objects = append(objects, policies...)
	}
	if document != "" {
		if err := i.keepAddresses(ctx); err != nil {
			return err
		}
	}
	if guard == GuardOn {
		if err := i.dropStrict(ctx); err != nil {
			return err
		}
	}
	for _, o := range objects {
		if err := i.installObject(ctx, o, document); err != nil {
			return err
		}
	}
	if guard != GuardNone {
		return i.guarded(ctx)
	}
	return nil
}

func (i *Installer) installObject(ctx context.Context, o *unstructured.Unstructured, document string) error {
	resource := resourceOf(o)
	client := i.Cluster.Dynamic.Resource(resource).Namespace(o.GetNamespace())
	live, err := client.Get(ctx, o.GetName(), metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return i.Cluster.Explain(err, "get", resource)
	}
	exists := err == nil
	if exists {
		if reason := leaveAlone(o, live, document); reason != "" {
			i.tell(report.Left, o, reason)
			return nil
		}
	}
	now, err := client.Apply(ctx, o.GetName(), o, metav1.ApplyOptions{FieldManager: lease.FieldManager})
	switch {
	case cluster.IsOwned(err):
		return &report.ConflictError{Object: o.GetKind() + "/" + o.GetName(), Managers: cluster.Owners(err), Err: err}
	case err != nil:
		return i.Cluster.Explain(err, "patch", resource)
	}
	action := created(exists)
	if exists && now.GetResourceVersion() == live.GetResourceVersion() {
		action = report.Unchanged
	}
	if i.isLedger(o) {
		opened, err := i.open(ctx)
		if err != nil {
			return err
		}
		if opened {
			action = report.Configured
		}
	}
	i.tell(action, o, "")
	if o.GetKind() == "CustomResourceDefinition" && i.Cluster.Waits() {
		return i.established(ctx, resource, o.GetName())
	}
	return nil
}

func created(exists bool) report.Action {
	if exists {
		return report.Configured
	}
	return report.Created
}

// leaveAlone says why an object that is there already is not to be touched.
func leaveAlone(o, live *unstructured.Unstructured, document string) string {
	switch {
	case o.GetKind() == "CustomResourceDefinition" && live.GetLabels()[managedBy] != managedByUs:
		return "it is there already, from Akash's provider"
	case o.GetKind() == "ConfigMap" && document == "":
		return "it is there already; install --config FILE replaces it"
	}
	return ""
}

// established waits until the API server serves a resource definition.
func (i *Installer) established(ctx context.Context, resource schema.GroupVersionResource, name string) error {
	err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		crd, err := i.Cluster.Dynamic.Resource(resource).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
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
		return &report.TimeoutError{After: time.Minute, Waiting: []string{"resource definition " + name + " to be served"}}
	}
	return err
}

func resourceOf(o *unstructured.Unstructured) schema.GroupVersionResource {
	return o.GroupVersionKind().GroupVersion().WithResource(plurals[o.GetKind()])
}

func (i *Installer) tell(action report.Action, o *unstructured.Unstructured, message string) {
	i.Report(report.Event{Time: time.Now(), Action: action, Kind: strings.ToLower(o.GetKind()), Namespace: o.GetNamespace(), Name: o.GetName(), Message: message})
}
