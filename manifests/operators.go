package manifests

import "fmt"

// OperatorsNamespace is the namespace in which Akash's charts run the provider and its operators.
const OperatorsNamespace = "akash-services"

// The Deployments of Akash's operators, by their current and former names in Akash's charts.
var (
	HostnameOperators = []string{"operator-hostname", "akash-hostname-operator"}
	IPOperators       = []string{"operator-ip", "akash-ip-operator"}
)

// StopOperator returns the command that stops one of Akash's operators.
func StopOperator(name string) string {
	return fmt.Sprintf("kubectl -n %s scale deployment %s --replicas=0", OperatorsNamespace, name)
}
