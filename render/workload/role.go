package workload

import (
	rbacac "k8s.io/client-go/applyconfigurations/rbac/v1"

	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/render"
)

// grants maps the words of params.permissions.read to rules.
var grants = map[string]func() []*rbacac.PolicyRuleApplyConfiguration{
	"logs": func() []*rbacac.PolicyRuleApplyConfiguration {
		return []*rbacac.PolicyRuleApplyConfiguration{
			rule("", "pods", "get", "list", "watch"),
			rule("", "pods/log", "get"),
			rule("apps", "deployments", "get", "list", "watch"),
		}
	},
	"events": func() []*rbacac.PolicyRuleApplyConfiguration {
		return []*rbacac.PolicyRuleApplyConfiguration{rule("", "events", "get", "list", "watch")}
	},
}

func rule(group, resource string, verbs ...string) *rbacac.PolicyRuleApplyConfiguration {
	return rbacac.PolicyRule().WithAPIGroups(group).WithResources(resource).WithVerbs(verbs...)
}

// role renders a Role with the permissions of the service, in their order. Repeated and unknown words grant nothing.
func (s *service) role() render.Object {
	role := rbacac.Role(s.Name, s.ns).WithLabels(s.leaseLabels(s.labels())).WithAnnotations(s.annotations())
	seen := map[string]bool{}
	for _, word := range s.Params.Permissions.Read {
		if grant := grants[word]; grant != nil && !seen[word] {
			seen[word] = true
			role.WithRules(grant()...)
		}
	}
	return render.Object{Kind: kinds.Role, Namespace: s.ns, Name: s.Name, Config: role}
}
