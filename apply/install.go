package apply

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

// Install brings the cluster what the ledger needs: Akash's resource definitions where they are
// missing, the namespaces, the roles, and the configuration where there is none (document
// replaces it, where it is not empty).
func (a *Applier) Install(ctx context.Context, document string, guard Guard) error {
	objects, err := manifests.All(a.opts.Config, document)
	if err != nil {
		return err
	}
	if guard != GuardNone {
		policies, err := manifests.Guard(a.opts.Config, guard == GuardStrict)
		if err != nil {
			return err
		}
		objects = append(objects, policies...)
	}
	if guard == GuardOn {
		if err := a.dropStrict(ctx); err != nil {
			return err
		}
	}
	made := map[string]bool{}
	for _, o := range objects {
		if err := a.installObject(ctx, o, document, made); err != nil {
			return err
		}
	}
	if guard != GuardNone {
		return a.guarded(ctx)
	}
	return nil
}

func (a *Applier) installObject(ctx context.Context, o *unstructured.Unstructured, document string, made map[string]bool) error {
	resource := resourceOf(o)
	client := a.cluster.dynamic.Resource(resource).Namespace(o.GetNamespace())
	live, err := client.Get(ctx, o.GetName(), metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return a.cluster.explain(err, "get", resource)
	}
	exists := err == nil
	if exists {
		if reason := leaveAlone(o, live, document); reason != "" {
			a.tell(Left, o, reason)
			return nil
		}
	}
	if a.opts.DryRun == DryRunClient || a.opts.DryRun == DryRunServer && made[o.GetNamespace()] {
		a.tell(created(exists), o, "")
		return nil
	}
	opts := metav1.ApplyOptions{FieldManager: lease.FieldManager}
	if a.opts.DryRun == DryRunServer {
		opts.DryRun = []string{metav1.DryRunAll}
		made[o.GetName()] = !exists
	}
	now, err := client.Apply(ctx, o.GetName(), o, opts)
	switch {
	case isOwned(err):
		return &ConflictError{Object: o.GetKind() + "/" + o.GetName(), Managers: owners(err), Err: err}
	case err != nil:
		return a.cluster.explain(err, "patch", resource)
	}
	action := created(exists)
	if exists && now.GetResourceVersion() == live.GetResourceVersion() {
		action = Unchanged
	}
	a.tell(action, o, "")
	if o.GetKind() == "CustomResourceDefinition" && a.opts.DryRun == "" {
		return a.established(ctx, resource, o.GetName())
	}
	return nil
}

func created(exists bool) Action {
	if exists {
		return Configured
	}
	return Created
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
func (a *Applier) established(ctx context.Context, resource schema.GroupVersionResource, name string) error {
	err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		crd, err := a.cluster.dynamic.Resource(resource).Get(ctx, name, metav1.GetOptions{})
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
		return &TimeoutError{After: time.Minute, Waiting: []string{"resource definition " + name + " to be served"}}
	}
	return err
}

// ClaimsExistError says why nothing was uninstalled.
type ClaimsExistError struct{ Claims int }

func (e *ClaimsExistError) Error() string {
	what := fmt.Sprintf("%d claims exist", e.Claims)
	if e.Claims == 1 {
		what = "1 claim exists"
	}
	return fmt.Sprintf("%s, and the ledger would go with it: nothing was removed. Release them first (kubectl akash-net state leases shows them), or use --force", what)
}

// Uninstall removes what Install made. Resource definitions of which objects exist stay, and so
// does Akash's manifest namespace. While there are claims it refuses, unless it is forced.
func (a *Applier) Uninstall(ctx context.Context, force bool) error {
	claims, err := a.ledger.list(ctx)
	if err != nil {
		return err
	}
	if len(claims) > 0 && !force {
		return &ClaimsExistError{Claims: len(claims)}
	}
	objects, err := manifests.All(a.opts.Config, "")
	if err != nil {
		return err
	}
	policies, err := a.policies(nil)
	if err != nil {
		return err
	}
	slices.Reverse(objects)
	for _, o := range append(policies, objects...) {
		if err := a.uninstallObject(ctx, o); err != nil {
			return err
		}
	}
	return nil
}

func (a *Applier) uninstallObject(ctx context.Context, o *unstructured.Unstructured) error {
	resource := resourceOf(o)
	client := a.cluster.dynamic.Resource(resource).Namespace(o.GetNamespace())
	live, err := client.Get(ctx, o.GetName(), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return a.cluster.explain(err, "get", resource)
	}
	if reason, err := a.keep(ctx, o, live); err != nil || reason != "" {
		if err == nil {
			a.tell(Left, o, reason)
		}
		return err
	}
	if a.opts.DryRun == DryRunClient {
		a.tell(Deleted, o, "")
		return nil
	}
	uid := live.GetUID()
	opts := metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}}
	if a.opts.DryRun == DryRunServer {
		opts.DryRun = []string{metav1.DryRunAll}
	}
	if err := client.Delete(ctx, o.GetName(), opts); err != nil && !apierrors.IsNotFound(err) {
		return a.cluster.explain(err, "delete", resource)
	}
	a.tell(Deleted, o, "")
	return nil
}

// keep says why an object is not to be uninstalled.
func (a *Applier) keep(ctx context.Context, o, live *unstructured.Unstructured) (string, error) {
	if live.GetLabels()[managedBy] != managedByUs {
		return "it is not from install", nil
	}
	if o.GetKind() != "CustomResourceDefinition" {
		return "", nil
	}
	plural, _, _ := unstructured.NestedString(o.Object, "spec", "names", "plural")
	metas, err := a.cluster.metas(ctx, akashResource(plural), "")
	if missing := (*MissingKindError)(nil); err != nil && !errors.As(err, &missing) {
		return "", err
	}
	if len(metas) > 0 {
		return fmt.Sprintf("%d objects of the kind exist and would go with it", len(metas)), nil
	}
	return "", nil
}

func akashResource(plural string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "akash.network", Version: "v2beta2", Resource: plural}
}

func resourceOf(o *unstructured.Unstructured) schema.GroupVersionResource {
	return o.GroupVersionKind().GroupVersion().WithResource(plurals[o.GetKind()])
}

func (a *Applier) tell(action Action, o *unstructured.Unstructured, message string) {
	a.send(Event{Time: time.Now(), Action: action, Kind: strings.ToLower(o.GetKind()), Namespace: o.GetNamespace(), Name: o.GetName(), Message: message})
}

// Config reads the configuration that all clients of the cluster share, and the name of where it
// stands for messages; the text is empty where there is none.
func (c *Cluster) Config(ctx context.Context) (text, place string, err error) {
	namespace := config.Default().LedgerNamespace
	place = "configmap " + namespace + "/" + manifests.ConfigMapName
	var o *unstructured.Unstructured
	err = c.read(ctx, func() (err error) {
		o, err = c.dynamic.Resource(configMaps).Namespace(namespace).Get(ctx, manifests.ConfigMapName, metav1.GetOptions{})
		return err
	})
	if apierrors.IsNotFound(err) {
		return "", place, nil
	}
	if err != nil {
		return "", place, c.explain(err, "get", configMaps)
	}
	text, _, err = unstructured.NestedString(o.Object, "data", manifests.ConfigMapKey)
	return text, place, err
}
