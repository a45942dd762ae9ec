package lease_test

import (
	"strings"
	"testing"

	"github.com/akash-net/kubectl-akash-net/lease"
)

// Names that claims or further routes have are nobody's hosts.
func TestReservedLabels(t *testing.T) {
	for _, host := range []string{
		"wc--any.example.com", "ip--203-0-113-7.example.com", "ep--0.example.com", "rs--0.example.com", "rd--http.example.com",
		lease.RouteName("example.com", "/api"), lease.RouteName("*.example.com", "/"),
	} {
		if err := lease.CheckHost(host); err == nil || !strings.Contains(err.Error(), "is reserved") {
			t.Errorf("%s: got %v", host, err)
		}
	}
}
