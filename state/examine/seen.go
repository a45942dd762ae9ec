package examine

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
)

// Seen is what was seen of a cluster.
type Seen struct {
	// Before is true if install is still to come.
	Before bool
	// Config is the provider's configuration, or the default one if that is invalid, was not read, or does not exist.
	Config *config.ProviderConfig
	// Configured says where the configuration is.
	Configured Answer[Configured]
	// Version is the server's version, for example v1.36.3.
	Version Answer[string]
	Clock   Clock
	// Served has the resources that the server serves, by group and version; none for a version that it does not serve.
	Served map[schema.GroupVersion]Answer[[]string]
	// Definitions are resource definitions by name; nil for one that does not exist. Namespaces are the same for namespaces.
	Definitions, Namespaces map[string]Answer[Object]
	// Applied is an object that a lease was applied with, where the ledger's namespace does not exist.
	Applied string
	// Rights are the caller's rights, as far as they were asked for.
	Rights map[Right]Answer[bool]

	// MetalLB are the Deployments in its namespace, the others what MetalLB is configured by there.
	MetalLB, Pools, L2Advertisements, BGPAdvertisements Answer[[]Object]
	// IngressClasses are all of them; Ingresses are up to a page of those in all namespaces.
	IngressClasses, Ingresses Answer[[]Object]
	// Gateway is the configured one, GatewayClass its class; nil if they do not exist.
	Gateway, GatewayClass Answer[Object]
	// Routers are OpenShift's IngressControllers.
	Routers Answer[[]Object]
	// Policies are the ValidatingAdmissionPolicies with their bindings.
	Policies Answer[[]Object]
	// Webhooks are the ValidatingWebhookConfigurations and the MutatingWebhookConfigurations.
	Webhooks Answer[[]Object]
	// Backends are the Services of webhooks, by NAMESPACE/NAME.
	Backends map[string]Answer[Backend]
	// Operators are the Deployments in the namespace of Akash's operators.
	Operators Answer[[]Object]
	// Reconciler is its Deployment, nil if it does not exist. Elections are the Leases by which reconcilers are elected, one for each set
	// of sources.
	Reconciler Answer[Object]
	Elections  Answer[[]Object]
	// Now is the server's time.
	Now time.Time
}

// Object is an object as it was read.
type Object = *unstructured.Unstructured

// Answer is what a read has found, or why nothing was read.
type Answer[T any] struct {
	Value T
	// Unread is nil if Value was read.
	Unread *Unread
}

// Unread is why something was not read.
type Unread struct {
	// Right is the right that the caller lacks; the zero Right for another reason, which Message has.
	Right   Right
	Message string
}

// Configured is where the provider's configuration is, and what is wrong with it.
type Configured struct {
	// Place names the file or the ConfigMap. Missing is true if there is no ConfigMap.
	Place   string
	Missing bool
	// Edit is the command that opens the configuration.
	Edit     string
	Problems lease.Problems
}

// Clock says between which bounds this machine's clock is behind the server's; negative if it is ahead. Seen is false if the
// server has not told its time.
type Clock struct {
	Seen        bool
	Least, Most time.Duration
}

// Backend is the Service of a webhook.
type Backend struct {
	Exists bool
	// Ready counts the addresses of its endpoints that take requests.
	Ready int
}

// serves reports whether the server serves a kind. It returns a line if not: what is wrong with its definition, with how to
// install it.
func (s *Seen) serves(k kinds.Kind, install string) (Line, bool) {
	served := s.Served[k.GroupVersion()]
	if served.Unread != nil {
		return s.unknown(served.Unread), false
	}
	if slices.Contains(served.Value, k.Plural) {
		return Line{}, true
	}
	name := k.Plural + "." + k.Group
	crd := s.Definitions[name]
	switch {
	case crd.Unread != nil:
		return problem(install, "%s %s is not served", name, k.Version), false
	case crd.Value == nil:
		return problem(install, "%s is not installed", name), false
	case !isTrue(crd.Value, "Established"):
		return problem("kubectl describe crd "+name, "the definition of %s is not established%s", name, why(crd.Value, "Established")), false
	}
	return problem(install, "%s does not serve %s, which this program needs; it serves %s", name, k.Version, list(versions(crd.Value))), false
}

// versions returns the served versions of a resource definition.
func versions(crd Object) (names []string) {
	all, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
	for _, v := range all {
		if v, ok := v.(map[string]any); ok && v["served"] == true {
			name, _ := v["name"].(string)
			names = append(names, name)
		}
	}
	return names
}

// condition returns a condition of an object's status, or nil.
func condition(o Object, kind string) map[string]any {
	all, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, c := range all {
		if c, ok := c.(map[string]any); ok && c["type"] == kind {
			return c
		}
	}
	return nil
}

func isTrue(o Object, kind string) bool { return condition(o, kind)["status"] == "True" }

// why returns the reason of a condition in parentheses, or "".
func why(o Object, kind string) string {
	c := condition(o, kind)
	reason, _ := c["reason"].(string)
	message, _ := c["message"].(string)
	switch {
	case reason == "":
		return ""
	case message == "":
		return " (" + reason + ")"
	}
	return " (" + reason + ": " + message + ")"
}

// text returns a text of an object, or "".
func text(o Object, path ...string) string {
	s, _, _ := unstructured.NestedString(o.Object, path...)
	return s
}

// named returns the object with the name, or nil.
func named(all []Object, name string) Object {
	if i := slices.IndexFunc(all, func(o Object) bool { return o.GetName() == name }); i >= 0 {
		return all[i]
	}
	return nil
}

// names returns the names of objects, sorted.
func names(all []Object) []string {
	var out []string
	for _, o := range all {
		out = append(out, o.GetName())
	}
	slices.Sort(out)
	return out
}

// Kinds returns the kinds that the checks ask of a cluster: whether they are served.
func Kinds(cfg *config.ProviderConfig) []kinds.Kind {
	all := slices.Concat([]kinds.Kind{kinds.Manifest, kinds.ProviderHost, kinds.ProviderLeasedIP}, kinds.WrittenPools(cfg), kinds.WrittenRecords(cfg))
	switch cfg.Target {
	case config.TargetHTTPRoute:
		all = append(all, gatewayKinds(cfg.Gateway)...)
	case config.TargetRoute:
		all = append(all, kinds.Route)
	}
	return all
}
