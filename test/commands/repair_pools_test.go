package commands

import (
	"context"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"

	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// Where our pool gives way to another the cluster's configuration excludes the addresses, so that the
// next apply does not ask for them; the tenant who has one keeps it. A repair that dies in between is
// finished by the next.
func TestRepairExcludesWhatOverlaps(t *testing.T) {
	subnet := newNet()
	ours := "akash-net-" + strings.ReplaceAll(subnet, ".", "-") + "0-29"
	config := configure(t, "ip:", "  # ours", "  ranges: ["+subnet+"0/29]")
	mustRun(t, 0, "install", "--config", config)
	t.Cleanup(func() {
		_ = harness.Objects.Resource(configMaps).Namespace(ledger).Delete(context.Background(), "config", metav1.DeleteOptions{})
		run(context.Background(), "install")
	})
	id, next := leaseOf(newOwner(), 1), leaseOf(newOwner(), 1)
	t.Cleanup(func() { run(context.Background(), "release", id.Group().String(), next.Group().String()) })
	definition := define(t, id, leased("game", "public", 7001))
	mustRun(t, 0, "apply", "-f", definition)
	makePool(t, "admin", subnet+"0/31", "")

	cut := startProxyOf(t, harness.Plane.Config, func(write string) bool { return write == "PATCH configmaps/config" })
	if r := runAs(t.Context(), cut.kubeconfig, "repair", "--request-timeout=1s"); r.Code != 1 {
		t.Errorf("the line was cut: %s", r)
	}
	harness.Run(t.Context(), "repair").Exits(t, 0).Prints(t, "PoolOverlap/"+ours+" repaired (take "+subnet+"0/31 out of pool "+ours+": pool admin serves it")
	document, _, _ := unstructured.NestedString(need(t, configMaps, ledger, "config").Object, "data", "config.yaml")
	if strings.Count(document, `"!`+subnet+`0/31"`) != 1 || !strings.Contains(document, "# ours") {
		t.Errorf("the configuration is\n%s", document)
	}
	addresses, _, _ := unstructured.NestedStringSlice(need(t, pools, metalLB, ours).Object, "spec", "addresses")
	if got := strings.Join(addresses, " "); got != subnet+"2/31 "+subnet+"4/30" && got != subnet+"2-"+subnet+"7" {
		t.Errorf("pool %s has %s", ours, got)
	}
	mustRun(t, 0, "state", "--problems")
	mustRun(t, 0, "apply", "-f", definition).Prints(t, subnet+"0", "unchanged")
	mustRun(t, 0, "apply", "-f", define(t, next, leased("game", "public", 7001))).Prints(t, "granted "+subnet+"2")
	grants(t, id, "game-ip-7001-tcp", subnet+"0")
	mustRun(t, 0, "install", "--config", config) // the configuration is still install's to write
}

// Who may not write the configuration mends the pool, and is told the line.
func TestRepairWithoutTheConfiguration(t *testing.T) {
	subnet := newNet()
	ours := "akash-net-" + strings.ReplaceAll(subnet, ".", "-") + "0-29"
	mustRun(t, 0, "install", "--config", configure(t, "ip: {ranges: ["+subnet+"0/29]}"))
	t.Cleanup(func() {
		_ = harness.Objects.Resource(configMaps).Namespace(ledger).Delete(context.Background(), "config", metav1.DeleteOptions{})
		run(context.Background(), "install")
	})
	id := leaseOf(newOwner(), 1)
	t.Cleanup(func() { run(context.Background(), "release", id.Group().String()) })
	mustRun(t, 0, "apply", "-f", define(t, id, leased("game", "public", 7001)))
	makePool(t, "admin", subnet+"0/31", "")
	removeLater(t, pools, metalLB, ours)
	grantAnother(t, scene{id: leaseOf(newOwner(), 1), subnet: subnet}, "6", "7")
	operator := operatorUser(t)
	// To take a grant out of a Service's status is not for every operator: the answer names the role.
	r := runAs(t.Context(), operator, "repair")
	if r.Code != 1 {
		t.Errorf("%s", r)
	}
	r.Prints(t, `add "!`+subnet+`0/31" to spec.ip.ranges of configmap akash-net/config, which is not yours to write`,
		"not allowed to patch services/status", "--clusterrole=akash-net-grants")
	bindRole(t, "operator-grants", "akash-net-grants")
	eventually(t, "the role for grants is bound", func(ctx context.Context) (bool, error) {
		r = runAs(ctx, operator, "repair")
		return r.Code == 0, nil
	})
	r.Prints(t, "GrantDiffers/"+subnet+"6 repaired (")
	mustRun(t, 0, "state", "--problems")
}

// operatorUser is a kubeconfig of a user with the operator's role.
func operatorUser(t *testing.T) string {
	t.Helper()
	_, path, err := harness.Plane.AddUser("operator")
	if err != nil {
		t.Fatal(err)
	}
	bindRole(t, "operator", "akash-net-operator")
	rbac := kubernetes.NewForConfigOrDie(harness.Plane.Config).RbacV1()
	meta, subjects := metav1.ObjectMeta{Name: "operator"}, []rbacv1.Subject{{Kind: "User", Name: "operator", APIGroup: rbacv1.GroupName}}
	if _, err = rbac.RoleBindings(ledger).Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: meta, Subjects: subjects, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "akash-net-operator"},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the roles are bound", func(ctx context.Context) (bool, error) {
		return runAs(ctx, path, "state", "--problems").Code == 1, nil
	})
	return path
}

// bindRole gives the user of operatorUser a role in the whole cluster.
func bindRole(t *testing.T, name, role string) {
	t.Helper()
	_, err := kubernetes.NewForConfigOrDie(harness.Plane.Config).RbacV1().ClusterRoleBindings().Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Subjects: []rbacv1.Subject{{Kind: "User", Name: "operator", APIGroup: rbacv1.GroupName}},
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
}
