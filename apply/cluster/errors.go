package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/lease/managed"
)

// Explain adds the next step to an error of the API server, or to the lack of an answer.
func (c *Cluster) Explain(err error, verb string, resource schema.GroupVersionResource) error {
	switch {
	case err == nil, IsAway(err), IsShut(err), errors.Is(err, context.Canceled):
		return err
	case IsMissingKind(err):
		return &kinds.MissingError{Resource: resource}
	case IsTerminating(err):
		return fmt.Errorf("cannot %s %s: %w\nThe namespace is being deleted: run the same command again when it is gone (kubectl get namespaces)",
			verb, resource.GroupResource(), err)
	case IsPolicy(err):
		return fmt.Errorf("the cluster's policy refuses to %s %s: %w", verb, resource.GroupResource(), err)
	case apierrors.IsForbidden(err) && resource == Namespaces && verb == "delete":
		return forbiddenNamespaces(err, verb, resource)
	case apierrors.IsForbidden(err) && resource.Resource == "services/status":
		return fmt.Errorf("not allowed to %s %s: %w\nAsk an administrator to bind you the role for wrong grants as well:\n"+
			"  kubectl create clusterrolebinding NAME --clusterrole=akash-net-grants %s", verb, resource.GroupResource(), err, subject(err))
	case apierrors.IsForbidden(err) && ofWorkloads(verb, resource):
		return fmt.Errorf("not allowed to %s %s: %w\nAsk an administrator to bind you the role for what leases run in that namespace as well (install --workloads brings it):\n"+
			"  kubectl -n NAMESPACE create rolebinding NAME --clusterrole=akash-net-workloads %s", verb, resource.GroupResource(), err, subject(err))
	case apierrors.IsForbidden(err):
		who := "operator"
		if reads := verb == "get" || verb == "list" || verb == "watch"; reads && c.Reads && resource.Resource != "manifests" { // viewers read no Manifests
			who = "viewer"
		}
		return fmt.Errorf("not allowed to %s %s: %w\nAsk an administrator to bind you the %s's roles:\n"+
			"  kubectl create clusterrolebinding NAME --clusterrole=akash-net-%[4]s %[5]s\n"+
			"  kubectl -n akash-net create rolebinding NAME --role=akash-net-%[4]s %[5]s", verb, resource.GroupResource(), err, who, subject(err))
	case apierrors.IsUnauthorized(err):
		return fmt.Errorf("the cluster at %s does not know these credentials (%w); check --kubeconfig, --context and --user", c.host, err)
	case apierrors.ReasonForError(err) == metav1.StatusReasonUnknown && !isAnswer(err):
		return fmt.Errorf("no answer from the cluster at %s: %w; check --kubeconfig and --context", c.host, err)
	}
	return fmt.Errorf("%s %s: %w", verb, resource.GroupResource(), err)
}

// userOf returns the user that RBAC has refused, or "".
func userOf(err error) string {
	status, _ := statusOf(err)
	_, after, _ := strings.Cut(status.Message, `forbidden: User `)
	quoted, _ := strconv.QuotedPrefix(after)
	name, _ := strconv.Unquote(quoted)
	return name
}

// subject returns the flag of kubectl create rolebinding that names the user that RBAC has refused.
func subject(err error) string {
	name := userOf(err)
	if namespace, account, err := serviceaccount.SplitUsername(name); err == nil {
		return "--serviceaccount=" + namespace + ":" + account
	}
	has := func(is func(rune) bool) bool { return strings.ContainsFunc(name, is) }
	switch {
	case has(func(r rune) bool { return !unicode.IsPrint(r) }):
		name = ""
	case has(func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("@:.-_/", r)
	}):
		name = "'" + strings.ReplaceAll(name, "'", `'\''`) + "'"
	}
	return "--user=" + cmp.Or(name, "YOU")
}

// unknown returns the answer to a request without credentials, which the API server takes as one of system:anonymous, as a 401. No role
// helps against it: it would be everybody's.
func unknown(err error) error {
	if apierrors.IsForbidden(err) && userOf(err) == user.Anonymous {
		return apierrors.NewUnauthorized(err.Error())
	}
	return err
}

// IsTerminating reports whether an object was refused because its namespace is being deleted. The API server says so with a
// 403, which no role helps against.
func IsTerminating(err error) bool {
	return apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)
}

// ofWorkloads reports whether only those who may apply workloads have the right to do this.
func ofWorkloads(verb string, resource schema.GroupVersionResource) bool {
	switch resource.Resource {
	case "networkpolicies", "serviceaccounts", "roles", "rolebindings", "secrets", "statefulsets", "deployments":
		return true
	case "manifests": // the operator's role allows reading them
		return verb != "get" && verb != "list"
	}
	return false
}

// IsMissingKind reports whether err is a kinds.MissingError, or the 404 for a path that the API server does not serve,
// which names no object.
func IsMissingKind(err error) bool {
	if _, explained := errors.AsType[*kinds.MissingError](err); explained {
		return true
	}
	status, ok := statusOf(err)
	return ok && status.Code == 404 && (status.Details == nil || status.Details.Name == "")
}

// forbiddenNamespaces explains a missing right to delete a namespace or to list what is in it.
func forbiddenNamespaces(err error, verb string, resource schema.GroupVersionResource) error {
	return fmt.Errorf("not allowed to %s %s: %w\nNo role of this program deletes namespaces, and who deletes one has to see all that is in it; "+
		"let an administrator run the same command, or one with the rights to delete namespaces and to list every kind", verb, resource.GroupResource(), err)
}

// NeedsRole turns an RBAC refusal into a RoleError, for rights that are in neither the operator's nor the viewer's
// role. It returns other errors unchanged.
func NeedsRole(err error, role string) error {
	return needs(err, role, "kubectl create clusterrolebinding NAME --clusterrole="+role)
}

// NeedsRoleIn is NeedsRole for a ClusterRole that is needed in one namespace, and is bound there.
func NeedsRoleIn(err error, namespace, role string) error {
	return needs(err, role, "kubectl -n "+namespace+" create rolebinding NAME --clusterrole="+role)
}

// NeedsRoleOf is NeedsRole for a Role of a namespace.
func NeedsRoleOf(err error, namespace, role string) error {
	return needs(err, role, "kubectl -n "+namespace+" create rolebinding NAME --role="+role)
}

func needs(err error, role, bind string) error {
	status, ok := statusOf(err)
	if !ok || !apierrors.IsForbidden(err) || IsPolicy(err) || IsTerminating(err) {
		return err
	}
	return &RoleError{Message: status.Message, Role: role, Bind: bind + " " + subject(err), err: err}
}

// RoleError reports that the user lacks a role.
type RoleError struct {
	// Message is the API server's message.
	Message string
	// Role is the role that grants the right, and Bind the command that binds it.
	Role, Bind string
	err        error
}

func (e *RoleError) Error() string {
	return fmt.Sprintf("not allowed: %s\nAsk an administrator to bind you the role %s as well:\n  %s", e.Message, e.Role, e.Bind)
}

func (e *RoleError) Unwrap() error { return e.err }

// statusOf returns the API server's answer, if the error is one.
func statusOf(err error) (metav1.Status, bool) {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return metav1.Status{}, false
	}
	return status.Status(), true
}

func isAnswer(err error) bool {
	_, ok := statusOf(err)
	return ok
}

// IsOwned reports whether server-side apply was refused because another manager owns a field with another value. Only a
// 409 with this cause means that (KEP-555).
func IsOwned(err error) bool {
	return apierrors.IsConflict(err) && apierrors.HasStatusCause(err, metav1.CauseTypeFieldManagerConflict)
}

// IsOvertaken reports whether a write was pinned to an object that has changed or gone since. The API server answers a
// stale resourceVersion with a 409 without causes, also if the write names the UID of a missing object, and another UID
// with a 422.
func IsOvertaken(err error) bool {
	if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) {
		return !IsOwned(err)
	}
	status, ok := statusOf(err)
	return ok && status.Code == http.StatusUnprocessableEntity && status.Details != nil &&
		slices.ContainsFunc(status.Details.Causes, func(cause metav1.StatusCause) bool { return cause.Field == "metadata.uid" })
}

// IsUnclear reports whether the request may or may not have taken effect: there was no answer, or one that says nothing
// about the object (a gateway's 5xx). A request that ended in an AwayError, or that a gate refused, was not sent.
func IsUnclear(err error) bool {
	status, ok := statusOf(err)
	return !IsAway(err) && !IsShut(err) && (!ok || status.Code >= 500)
}

// Owners returns the field managers that a conflict names, each once.
func Owners(err error) []string {
	status, _ := statusOf(err)
	if status.Details == nil {
		return nil
	}
	var out []string
	for _, cause := range status.Details.Causes {
		quoted := strings.SplitN(cause.Message, `"`, 3)
		if len(quoted) == 3 && !slices.Contains(out, quoted[1]) {
			out = append(out, quoted[1])
		}
	}
	return out
}

// IsPolicy reports whether an admission policy refused a write, rather than RBAC.
func IsPolicy(err error) bool {
	return apierrors.IsForbidden(err) && strings.Contains(err.Error(), "ValidatingAdmissionPolicy")
}

// Owned returns the fields that a manager has applied to an object, with their current values: applying it again
// changes nothing.
func Owned(live *unstructured.Unstructured, manager string) (map[string]any, error) {
	out := map[string]any{}
	if entry, ok := managed.Applied(live, manager); ok {
		set, ok := entry.Set()
		if !ok {
			return nil, fmt.Errorf("the managed fields of %s cannot be read", manager)
		}
		out = pickFields(live.Object, set)
	}
	o := &unstructured.Unstructured{Object: out}
	o.SetAPIVersion(live.GetAPIVersion())
	o.SetKind(live.GetKind())
	o.SetNamespace(live.GetNamespace())
	o.SetName(live.GetName())
	return out, nil
}

// pick returns the part of a value that is in a set of fields.
func pick(from any, set *fieldpath.Set) any {
	switch from := from.(type) {
	case map[string]any:
		return pickFields(from, set)
	case []any:
		return pickItems(from, set)
	}
	return from
}

func pickFields(from map[string]any, set *fieldpath.Set) map[string]any {
	out := map[string]any{}
	for name, v := range from {
		element := fieldpath.FieldNameElement(name)
		if below, ok := set.Children.Get(element); ok {
			out[name] = pick(v, below)
		} else if set.Members.Has(element) {
			out[name] = v
		}
	}
	return out
}

func pickItems(from []any, set *fieldpath.Set) []any {
	out := []any{}
	for _, item := range from {
		for element := range set.Children.All() {
			if below, _ := set.Children.Get(element); isItem(element, item) {
				out = append(out, pick(item, below))
			}
		}
		for element := range set.Members.All() {
			if _, parted := set.Children.Get(element); !parted && isItem(element, item) {
				out = append(out, item)
			}
		}
	}
	return out
}

// isItem reports whether a path element selects a list item, by its keys or by its value.
func isItem(element fieldpath.PathElement, item any) bool {
	if element.Value != nil {
		return value.Equals(*element.Value, value.NewValueInterface(item))
	}
	fields, ok := item.(map[string]any)
	if element.Key == nil || !ok {
		return false
	}
	for _, key := range *element.Key {
		if v, has := fields[key.Name]; !has || !value.Equals(key.Value, value.NewValueInterface(v)) {
			return false
		}
	}
	return true
}
