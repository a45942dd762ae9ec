// Package examine decides whether a cluster has what this program needs, by what was seen of the cluster. It is pure:
// apply/examination reads what the lines are decided by.
package examine

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
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

// Lacks says what is not there, or does not answer, of what serves objects of some kinds: a command that writes such an object would
// wait for it. doubts are what may be missing; what could not be read is neither. lacks say how to mend it.
func (s *Seen) Lacks(written []kinds.Kind) (lacks, doubts []string) {
	has := func(of ...kinds.Kind) bool {
		return slices.ContainsFunc(of, func(k kinds.Kind) bool { return slices.Contains(written, k) })
	}
	add := func(of string, lines ...Line) {
		for _, line := range lines {
			switch line.Result {
			case Problem:
				lacks = append(lacks, of+line.Text+"; "+line.Mend)
			case Warning:
				doubts = append(doubts, of+line.Text)
			case OK, Unknown:
			}
		}
	}
	if has(kinds.HTTPRoute, kinds.TLSRoute) {
		add("", s.gatewayServes()...)
	}
	if has(kinds.Route) {
		add("", s.routers()...)
	}
	if has(kinds.Ingress) {
		add("", s.ingresses()...)
	}
	if has(kinds.Service) {
		add("MetalLB: ", s.metallb()...)
		if s.Config.IP.Mode == config.ModePool && s.Pools.Unread == nil {
			if line, missing := s.poolMissing(); missing {
				add("", line)
			}
		}
	}
	return lacks, doubts
}

// Result is the result of a check.
type Result string

// The results.
const (
	OK Result = "ok"
	// Warning is something that limits commands, or protects less than possible. Nothing has to change.
	Warning Result = "warning"
	// Problem is something that makes commands fail, or leases unreachable.
	Problem Result = "problem"
	// Unknown means that the cluster has not said what the check needs.
	Unknown Result = "unknown"
)

// Line is what a check has found.
type Line struct {
	// Check names the check; several lines may have the same name.
	Check  string `json:"check"`
	Result Result `json:"result"`
	Text   string `json:"text"`
	// Mend is the command, or the words, that mends the problem; "" if there is nothing to mend.
	Mend string `json:"mend,omitempty"`
}

// Lines returns the lines of all checks, in the order in which to mend.
func Lines(s *Seen) []Line {
	var lines []Line
	for _, check := range checks {
		if s.Before && !check.before {
			continue
		}
		for _, line := range check.lines(s) {
			line.Check = check.name
			lines = append(lines, line)
		}
	}
	return lines
}

// Count returns how many lines have the result.
func Count(lines []Line, r Result) (n int) {
	for _, line := range lines {
		if line.Result == r {
			n++
		}
	}
	return n
}

// checks are the checks in the order of their lines; before is true for those that hold before install as well.
var checks = []struct {
	name   string
	before bool
	lines  func(*Seen) []Line
}{
	{"kubernetes", true, (*Seen).kubernetes},
	{"clock", true, (*Seen).clock},
	{"configuration", true, (*Seen).configuration},
	{"namespaces", true, (*Seen).namespaces},
	{"definitions", true, (*Seen).definitions},
	{"rights", true, (*Seen).rights},
	{"metallb", true, func(s *Seen) []Line { return append(s.metallb(), s.prefix()...) }},
	{"pools", true, (*Seen).pools},
	{"routes", true, (*Seen).routes},
	{"dns", true, (*Seen).dns},
	{"webhooks", true, (*Seen).webhooks},
	{"operators", true, (*Seen).operators},
	{"guard", false, (*Seen).guard},
	{"reconciler", false, (*Seen).reconciler},
}

func ok(format string, args ...any) Line { return Line{Result: OK, Text: fmt.Sprintf(format, args...)} }

func warning(mend, format string, args ...any) Line {
	return Line{Result: Warning, Text: fmt.Sprintf(format, args...), Mend: mend}
}

func problem(mend, format string, args ...any) Line {
	return Line{Result: Problem, Text: fmt.Sprintf(format, args...), Mend: mend}
}

// unknown returns the line about something that was not read.
func (s *Seen) unknown(u *Unread) Line {
	line := Line{Result: Unknown, Text: u.Message}
	if u.Right != (Right{}) {
		line.Text = "you may not " + u.Right.String()
		line.Mend = grants(s.Config, u.Right)
	}
	return line
}

// list joins names: "a, b and c".
func list(names []string) string {
	if n := len(names); n > 1 {
		return strings.Join(names[:n-1], ", ") + " and " + names[n-1]
	}
	return strings.Join(names, "")
}

// some is list, with at most three of the names.
func some(names []string) string {
	if more := len(names) - 3; more > 0 {
		names = append(slices.Clone(names[:3]), fmt.Sprintf("%d more", more))
	}
	return list(names)
}
