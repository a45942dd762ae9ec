package orders

import (
	"context"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// An order is explained from its bid to its lease, with what the lease's pods use; who may not list pods is told all but
// that.
func TestExplain(t *testing.T) {
	free(t)
	harness.Node(t, "told-1", rtx4090, harness.Amounts("4", "8Gi", "nvidia.com/gpu", "1"))
	id := harness.LeaseOf(harness.NewOwner(), 7)
	order, file := "order/"+id.Order().String(), sdl(t, group{resources: oneGPU, host: harness.NewHost("t")})
	explain := func(code int, more ...string) harness.Result {
		t.Helper()
		return harness.Run(t.Context(), append([]string{"explain", order}, more...)...).Exits(t, code)
	}
	if r := explain(1).Says(t, "order "+id.Order().String()+" has reserved nothing"); r.Stdout != "" {
		t.Errorf("said twice: %s", r)
	}
	explain(0, "--ignore-not-found").Prints(t, "order "+id.Order().String()+" has reserved nothing\n")
	reserve(t, 0, id.Order(), file, "--expires", "5m")
	explain(0).Prints(t, "has reserved 1 CPU, 1Gi memory, 1Gi disk, 1 nvidia/rtx4090, for a bid\n", "  It stands since ", "  Node told-1: 1 CPU", "  It ends at ", "  Nothing of it is in use.\n", "unreserve --order")
	if r := explain(1, "nobody.example.com", "endpoint/none", "-o", "json"); strings.Index(r.Stdout, order) > strings.Index(r.Stdout, "nobody.example.com") || !strings.Contains(r.Stdout, "no IP endpoint named none") {
		t.Errorf("the order of the arguments is another: %s", r)
	}
	harness.Run(t.Context(), "__complete", "explain", order[:20]).Exits(t, 0).Prints(t, order+"\n")
	harness.Run(t.Context(), "state", order, "-o", "name").Exits(t, 0).Prints(t, order+"\n")
	harness.Run(t.Context(), "explain", "order/"+id.String()).Exits(t, 2).Says(t, "not of the form OWNER/DSEQ/GSEQ/OSEQ")
	harness.Run(t.Context(), "release", order).Exits(t, 2).Says(t, order+" is not what this command takes")

	t.Cleanup(func() { harness.Run(context.WithoutCancel(t.Context()), "release", id.String()) })
	harness.Run(t.Context(), "apply", "-f", file, "--lease", id.String(), "--workloads", "--wait=false").Exits(t, 0)
	explain(0).Prints(t, ", for its lease at "+id.Provider+"\n", "Nothing of it is in use", "It has no end", "release "+id.Group().String())
	no, half := false, harness.Amounts("500m", "1Gi")
	delete(half, "pods")
	delete(half, "ephemeral-storage")
	_, err := harness.Client().CoreV1().Pods(id.Namespace()).Create(t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web-1"},
		Spec: corev1.PodSpec{NodeName: "told-1", AutomountServiceAccountToken: &no, Containers: []corev1.Container{{Name: "web", Image: "nginx",
			Resources: corev1.ResourceRequirements{Requests: half, Limits: half}}}}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		now := int64(0)
		if err := harness.Client().CoreV1().Pods(id.Namespace()).Delete(context.WithoutCancel(t.Context()), "web-1", metav1.DeleteOptions{GracePeriodSeconds: &now}); err != nil {
			t.Error(err)
		}
	})
	explain(0).Prints(t, "In use by the lease's pods, volumes and addresses: 500m CPU, 1Gi memory. Kept for it: 500m CPU, 1Gi disk, 1 GPU.\n")

	reader := fmt.Sprint("reader-", harness.Number())
	if _, err := harness.Client().RbacV1().RoleBindings("akash-net").Create(t.Context(), &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Name: reader},
		Subjects: []rbacv1.Subject{{Kind: "User", Name: reader, APIGroup: rbacv1.GroupName}},
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "akash-net-viewer"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, "the role is known", func(ctx context.Context) (bool, error) {
		return harness.Run(ctx, "explain", order, "--as", reader).Code == 0, nil
	})
	explain(0, "--as", reader).Prints(t, "for its lease at "+id.Provider, "What its lease uses of it could not be read: ", "is forbidden")
}
