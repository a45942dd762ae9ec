package commands

import (
	"context"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// Operators and viewers read no Deployments but those in the namespace of Akash's operators, where a Role of that namespace lets
// them. Without that namespace no operator runs; where it exists and may not be read, nothing is guessed.
func TestWhoSeesOperators(t *testing.T) {
	t.Parallel()
	bare := harness.Bare(t)
	client := kubernetes.NewForConfigOrDie(bare.Config)
	admin := user{kubeconfig: bare.Kubeconfig}
	const services, role = "akash-services", "akash-net-sees-operators"
	admin.do(t, "install").Prints(t, "role/"+role+" left (there is no namespace "+services)

	people := map[string]user{}
	bind := func(namespace, role, name string) {
		t.Helper()
		if _, err := client.RbacV1().RoleBindings(namespace).Create(t.Context(), &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: name}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role},
			Subjects: []rbacv1.Subject{{Kind: "User", Name: name, APIGroup: rbacv1.GroupName}},
		}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	lists := func(name, namespace string) bool {
		config, _, err := bare.AddUser(name)
		if err != nil {
			t.Fatal(err)
		}
		_, err = kubernetes.NewForConfigOrDie(config).AppsV1().Deployments(namespace).List(t.Context(), metav1.ListOptions{})
		return err == nil
	}
	for _, name := range []string{"akash-net-operator", "akash-net-viewer"} {
		_, path, err := bare.AddUser(name)
		if err != nil {
			t.Fatal(err)
		}
		people[name] = user{kubeconfig: path}
		if _, err := client.RbacV1().ClusterRoleBindings().Create(t.Context(), &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: name}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
			Subjects: []rbacv1.Subject{{Kind: "User", Name: name, APIGroup: rbacv1.GroupName}},
		}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		bind(ledger, name, name)
		eventually(t, "the roles are bound", func(context.Context) (bool, error) {
			return people[name].run(t, "state", "--problems").Code == 0 && people[name].run(t, "state", "routes").Code == 0, nil
		})
	}
	operator, viewer := people["akash-net-operator"], people["akash-net-viewer"]
	id, host := leaseOf(newTenant(), 1), newHost("sees")
	definition := defineParts(t, id, webPart(host))
	operator.do(t, "apply", "-f", definition).Prints(t, "ingress/"+host+" created")

	if _, err := client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: services}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	unbound := func() {
		t.Helper()
		for _, args := range [][]string{{"apply", "-f", definition}, {"release", id.Group().String()}} {
			r := operator.run(t, args...).Exits(t, 1)
			r.Says(t, "whether Akash's operators run cannot be seen: not allowed", "kubectl -n "+services+" create rolebinding NAME --role="+role+" --user=YOU", "--operators=on or --operators=off")
			if strings.Contains(r.Stderr, "clusterrole=") {
				t.Errorf("the advice is a right in all namespaces: %s", r.Stderr)
			}
		}
		viewer.do(t, "state", "--problems")
		operator.do(t, "apply", "--operators=off", "-f", definition).Prints(t, "unchanged")
	}
	unbound()
	admin.do(t, "install").Prints(t, "role/"+role+" created")
	unbound()
	for name, u := range people {
		bind(services, role, name)
		eventually(t, "the Role is bound", func(context.Context) (bool, error) { return lists(name, services), nil })
		u.do(t, "state", "--problems")
		if lists(name, "") || lists(name, id.Namespace()) {
			t.Errorf("%s lists the Deployments of tenants", name)
		}
	}
	operator.do(t, "apply", "-f", definition).Prints(t, "unchanged")

	labels := map[string]string{"app": "x"}
	if _, err := client.AppsV1().Deployments(services).Create(t.Context(), &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "operator-hostname"}, Spec: appsv1.DeploymentSpec{Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "x", Image: "x"}}}}},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	operator.run(t, "apply", "-f", definition).Exits(t, 1).Says(t, "Akash's hostname operator")
	admin.do(t, "uninstall", "--force", "-y").Prints(t, "role/"+role+" deleted")
}
