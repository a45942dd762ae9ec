package harness

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
)

// operatorName is the user of Operator.
var operatorName string

// Operator adds a user with the roles of operators that install brings, and further ClusterRoles beside them, bound as
// manifests/rbac.yaml says. It returns when the API server knows.
func Operator(ctx context.Context, further ...string) (config *rest.Config, kubeconfig string, err error) {
	if operatorName, config, kubeconfig, err = Plane.AddUser(); err != nil {
		return nil, "", err
	}
	for _, role := range append([]string{"akash-net-operator"}, further...) {
		if err := Kubectl(ctx, "", nil, "create", "clusterrolebinding", operatorName+"-"+role, "--clusterrole="+role, "--user="+operatorName); err != nil {
			return nil, "", err
		}
	}
	if err := BindInLedger(ctx); err != nil {
		return nil, "", err
	}
	may := func(args ...string) bool {
		return Kubectl(ctx, "", []string{"KUBECONFIG=" + kubeconfig}, append([]string{"auth", "can-i"}, args...)...) == nil
	}
	return config, kubeconfig, wait.PollUntilContextTimeout(ctx, 20*time.Millisecond, Deadline, true, func(context.Context) (bool, error) {
		return may("patch", "ingresses", "-A") && may("patch", "leases", "-n", "akash-net"), nil
	})
}

// BindInLedger gives the operator the Role in the ledger's namespace. It goes with that namespace.
func BindInLedger(ctx context.Context) error {
	return Kubectl(ctx, "", nil, "-n", "akash-net", "create", "rolebinding", operatorName, "--role=akash-net-operator", "--user="+operatorName)
}
