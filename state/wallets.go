package state

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/lease"
)

// WrongWalletOf says which owner or provider of a ProviderHost or a ProviderLeasedIP is not the address of a wallet; "" if
// both are. Akash's operators decode those of the spec, and stop at the first object that has another.
func WrongWalletOf(o *unstructured.Unstructured) string {
	path := []string{"spec"}
	switch o.GetKind() {
	case "ProviderHost":
	case "ProviderLeasedIP":
		path = append(path, "lease_id")
	default:
		return ""
	}
	for _, key := range []string{"owner", "provider"} {
		if err := lease.CheckWallet(fmt.Sprint(Field(Field(o.Object, path...), key))); err != nil {
			return key + ": " + err.Error()
		}
	}
	return ""
}
