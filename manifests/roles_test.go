package manifests_test

import (
	"os"
	"strings"
	"testing"

	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/manifests"
)

// The page on roles says who needs each of them.
func TestRolesAreDocumented(t *testing.T) {
	objects, err := manifests.RBAC(config.Default())
	if err != nil {
		t.Fatal(err)
	}
	workloads, err := manifests.Workloads()
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../docs/roles.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range append(objects, workloads...) {
		if name := "| `" + o.GetName() + "`"; !strings.Contains(string(page), name+" |") && !strings.Contains(string(page), name+",") {
			t.Errorf("docs/roles.md does not say who needs %s", o.GetName())
		}
	}
}
