package manifests_test

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/manifests"
)

// rights is the table of docs/roles.md that this test writes.
var rights = regexp.MustCompile(`(?s)(<!-- rights -->\n).*(<!-- end of rights -->\n)`)

// The table of the rights of all roles is that of the manifests: a line for each API group of a role's rules.
func TestTableOfRights(t *testing.T) {
	objects, err := manifests.RBAC(config.Default())
	if err != nil {
		t.Fatal(err)
	}
	workloads, err := manifests.Workloads()
	if err != nil {
		t.Fatal(err)
	}
	const file = "../docs/roles.md"
	page, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var table strings.Builder
	table.WriteString("\n| role | verbs | resources |\n| --- | --- | --- |\n")
	for _, o := range append(objects, workloads...) {
		name := "`" + o.GetName() + "`"
		if !strings.Contains(string(page), "| "+name+" |") && !strings.Contains(string(page), "| "+name+",") {
			t.Errorf("docs/roles.md does not say who needs %s", name)
		}
		if o.GetKind() == "Role" {
			name += ", the Role in `" + o.GetNamespace() + "`"
		}
		table.WriteString(rowsOf(t, name, o))
	}
	generated(t, file, rights.ReplaceAllString(string(page), "${1}"+table.String()+"\n${2}"))
}

// rowsOf are the rights of a role, a row for each set of verbs.
func rowsOf(t *testing.T, name string, o *unstructured.Unstructured) string {
	t.Helper()
	var role rbacv1.ClusterRole
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &role); err != nil {
		t.Fatal(err)
	}
	resources := map[string][]string{}
	for _, rule := range role.Rules {
		verbs := strings.Join(rule.Verbs, ", ")
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				if group != "" {
					resource += "." + group
				}
				if len(rule.ResourceNames) > 0 {
					resource += " (" + strings.Join(rule.ResourceNames, ", ") + ")"
				}
				if !slices.Contains(resources[verbs], resource) {
					resources[verbs] = append(resources[verbs], resource)
				}
			}
		}
	}
	var rows strings.Builder
	for _, verbs := range slices.Sorted(maps.Keys(resources)) {
		slices.Sort(resources[verbs])
		fmt.Fprintf(&rows, "| %s | %s | %s |\n", name, verbs, strings.Join(resources[verbs], ", "))
	}
	return rows.String()
}
