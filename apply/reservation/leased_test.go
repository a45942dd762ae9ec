package reservation

import (
	"strings"
	"testing"
)

// A refusal names a few of the orders, however many there are.
func TestAddressesError(t *testing.T) {
	for n, want := range map[int]string{1: "reserved by a;", 3: "reserved by a, b, c;", 5: "reserved by a, b, c, 2 more;"} {
		e := &AddressesError{By: strings.Split("abcde", "")[:n]}
		if !strings.Contains(e.Error(), want) {
			t.Errorf("%d: %v", n, e)
		}
	}
}
