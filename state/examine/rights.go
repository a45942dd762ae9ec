package examine

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/manifests"
)

// Right is the right to do something with a resource.
type Right struct {
	Verb string
	// Group, Resource and Subresource name the resource; Name limits the right to one object.
	Group, Resource, Subresource, Name string
	// Namespace is empty for all namespaces, and for resources that have none.
	Namespace string
}

// Everything is the right to do everything, which cluster administrators have.
var Everything = Right{Verb: "*", Group: "*", Resource: "*"}

func (r Right) String() string { return r.Verb + " " + r.of() }

// of returns what the right is for, without its verb.
func (r Right) of() string {
	what := r.Resource
	if r.Subresource != "" {
		what += "/" + r.Subresource
	}
	if r.Group != "" {
		what += "." + r.Group
	}
	if r.Name != "" {
		what += " " + r.Name
	}
	if r.Namespace != "" {
		what += " in namespace " + r.Namespace
	}
	return what
}

// Asked returns the rights that Lines needs answers about, each once.
func Asked(cfg *config.ProviderConfig, before bool) ([]Right, error) {
	if before {
		return installs(cfg)
	}
	all, err := roles(cfg)
	if err != nil {
		return nil, err
	}
	var rights []Right
	seen := map[Right]bool{}
	for _, role := range all {
		for _, r := range role.rights {
			if !seen[r] {
				seen[r] = true
				rights = append(rights, r)
			}
		}
	}
	return rights, nil
}

// grants returns the command that binds a role with a right, or who has the right if no role does. The role for workloads allows too much
// to be bound for a check.
func grants(cfg *config.ProviderConfig, r Right) string {
	all, err := roles(cfg)
	if err == nil {
		for _, first := range []string{viewer, operator, sees, ""} {
			for _, role := range all {
				if (first == "" && role.name != workloads || role.name == first) && slices.ContainsFunc(role.rights, r.in) {
					return role.bind()
				}
			}
		}
	}
	return "no role of this program allows it; let a cluster administrator run doctor"
}

// in reports whether a right includes this one.
func (r Right) in(other Right) bool {
	if other.Namespace == "" {
		r.Namespace = ""
	}
	if other.Name == "" {
		r.Name = ""
	}
	return r == other
}

func (s *Seen) rights() []Line {
	if s.Rights[Everything].Value {
		return []Line{ok("you may do everything in the cluster")}
	}
	if s.Before {
		return s.rightsToInstall()
	}
	all, err := roles(s.Config)
	if err != nil {
		return []Line{{Result: Unknown, Text: err.Error()}}
	}
	var covered []string
	lacking := map[string][]Line{}
	for _, role := range all {
		line, has := s.covers(role)
		switch {
		case !has && s.matters(role):
			lacking[role.name] = append(lacking[role.name], line)
		case has && !slices.Contains(covered, role.name):
			covered = append(covered, role.name)
		}
	}
	covered = slices.DeleteFunc(covered, func(name string) bool { return len(lacking[name]) > 0 })
	var lines []Line
	if len(covered) > 0 {
		lines = append(lines, ok("your rights cover %s", list(covered)))
	}
	operates, looks := slices.Contains(covered, operator), slices.Contains(covered, viewer)
	for _, role := range all {
		for _, line := range lacking[role.name] {
			switch needed := !operates && (role.name == operator || role.name == viewer) || role.name == sees; {
			case role.name == viewer && operates:
				continue // whoever operates does not need it
			case line.Result == Problem && (!needed || looks && role.name == operator):
				line.Result = Warning
			}
			lines = append(lines, line)
		}
		delete(lacking, role.name)
	}
	return lines
}

// matters reports whether somebody needs a role in this cluster.
func (s *Seen) matters(r role) bool {
	switch r.name {
	case sees:
		return s.Namespaces[manifests.OperatorsNamespace].Value != nil
	case workloads:
		return s.Config.Workloads.Enabled
	}
	return true
}

// covers reports whether the caller has all rights of a role, and returns a line about those that are missing.
func (s *Seen) covers(r role) (Line, bool) {
	missing := newMissing()
	for _, right := range r.rights {
		switch answer := s.Rights[right]; {
		case answer.Unread != nil:
			return s.unknown(answer.Unread), false
		case !answer.Value:
			missing.add(right)
		}
	}
	if len(missing.order) == 0 {
		return Line{}, true
	}
	where := ""
	if r.namespace == "" {
		where = " in all namespaces"
	}
	purpose := purposes[r.name]
	if purpose != "" {
		purpose = " (" + purpose + ")"
	}
	return problem(r.bind(), "your rights do not cover %s%s%s: you may not %s", r.name, where, purpose, missing), false
}

func (s *Seen) rightsToInstall() []Line {
	needed, err := installs(s.Config)
	if err != nil {
		return []Line{{Result: Unknown, Text: err.Error()}}
	}
	missing := newMissing()
	for _, right := range needed {
		switch answer := s.Rights[right]; {
		case answer.Unread != nil:
			return []Line{s.unknown(answer.Unread)}
		case !answer.Value:
			missing.add(right)
		}
	}
	if len(missing.order) > 0 {
		return []Line{problem("let a cluster administrator install", "your rights do not suffice to install: you may not %s", missing)}
	}
	return []Line{ok("your rights suffice to install")}
}

// missing are missing rights, by what they are for.
type missing struct {
	order []string
	verbs map[string][]string
}

func newMissing() *missing { return &missing{verbs: map[string][]string{}} }

func (m *missing) add(r Right) {
	of := r.of()
	if m.verbs[of] == nil {
		m.order = append(m.order, of)
	}
	if !slices.Contains(m.verbs[of], r.Verb) {
		m.verbs[of] = append(m.verbs[of], r.Verb)
	}
}

func (m *missing) String() string {
	var texts []string
	for _, of := range m.order {
		texts = append(texts, list(m.verbs[of])+" "+of)
	}
	if more := len(texts) - 3; more > 0 {
		texts = append(texts[:3], fmt.Sprintf("%d more resources", more))
	}
	return strings.Join(texts, "; ")
}

// role is a role that install brings, with what it allows.
type role struct {
	name string
	// namespace is empty for a ClusterRole.
	namespace string
	rights    []Right
}

// bind returns the command that binds the role to the caller.
func (r role) bind() string {
	switch {
	case r.namespace != "":
		return fmt.Sprintf("kubectl -n %s create rolebinding NAME --role=%s --user=YOU", r.namespace, r.name)
	case inLeases[r.name]:
		return fmt.Sprintf("kubectl -n NAMESPACE create rolebinding NAME --clusterrole=%s --user=YOU", r.name)
	}
	return fmt.Sprintf("kubectl create clusterrolebinding NAME --clusterrole=%s --user=YOU", r.name)
}

const (
	operator  = "akash-net-operator"
	viewer    = "akash-net-viewer"
	sees      = "akash-net-sees-operators"
	workloads = "akash-net-workloads"
)

// inLeases are the ClusterRoles that are bound in the namespaces of leases, because in all namespaces they show too much.
var inLeases = map[string]bool{"akash-net-logs": true, workloads: true}

// purposes say which commands need the ClusterRoles beside those of operators and viewers (docs/roles.md).
var purposes = map[string]string{
	"akash-net-capacity": "state resources, order fit of documents, order reserve",
	"akash-net-grants":   "repair of GrantDiffers",
	"akash-net-logs":     "logs",
	"akash-net-status":   "status, events, state leases --workloads",
	workloads:            "apply --workloads",
}

// roles returns the roles that install brings.
func roles(cfg *config.ProviderConfig) ([]role, error) {
	objects, err := manifests.RBAC(cfg)
	if err != nil {
		return nil, err
	}
	running, err := manifests.Workloads()
	if err != nil {
		return nil, err
	}
	var out []role
	for _, o := range append(objects, running...) {
		r := role{name: o.GetName(), namespace: o.GetNamespace()}
		rules, _, err := unstructured.NestedSlice(o.Object, "rules")
		if err != nil {
			return nil, err
		}
		for _, rule := range rules {
			r.rights = append(r.rights, rightsOf(&unstructured.Unstructured{Object: rule.(map[string]any)}, r.namespace)...)
		}
		out = append(out, r)
	}
	return out, nil
}

// rightsOf returns what a rule of a role allows.
func rightsOf(rule Object, namespace string) (rights []Right) {
	texts := func(key string) []string {
		list, _, _ := unstructured.NestedStringSlice(rule.Object, key)
		return list
	}
	objects := texts("resourceNames")
	if len(objects) == 0 {
		objects = []string{""}
	}
	for _, group := range texts("apiGroups") {
		for _, resource := range texts("resources") {
			resource, sub, _ := strings.Cut(resource, "/")
			for _, name := range objects {
				for _, verb := range texts("verbs") {
					rights = append(rights, Right{verb, group, resource, sub, name, namespace})
				}
			}
		}
	}
	return rights
}

// installs returns the rights that install needs.
func installs(cfg *config.ProviderConfig) ([]Right, error) {
	objects, err := manifests.All(cfg, "")
	if err != nil {
		return nil, err
	}
	var rights []Right
	for _, o := range objects {
		if o.GetNamespace() == manifests.OperatorsNamespace && o.GetNamespace() != cfg.LedgerNamespace {
			continue // install leaves it where there is no such namespace
		}
		resource, _ := meta.UnsafeGuessKindToResource(o.GroupVersionKind())
		for _, verb := range []string{"get", "create", "patch"} {
			if r := (Right{Verb: verb, Group: resource.Group, Resource: resource.Resource, Namespace: o.GetNamespace()}); !slices.Contains(rights, r) {
				rights = append(rights, r)
			}
		}
	}
	return rights, nil
}
