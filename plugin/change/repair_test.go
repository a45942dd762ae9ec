package change

import (
	"slices"
	"testing"
)

// Leases, hosts and addresses are told from the names of problems, however they are written.
func TestSplitNames(t *testing.T) {
	leases, things, problems := splitNames([]string{
		"akash1h24fljt7p0nh82cq0za0uhsct3sfwsfu9w3c9h/8438017/1", "Shop.example.com.", "host/a.example.com", "a.example.com/v2", "203.0.113.7",
		"ip/2001:db8::1", "BlockedHost/bad.example.com", "blockedhost/bad.example.com", "LostMarks/ingress/a.example.com", "BlockedHost", "*.example.com",
	})
	if len(leases) != 1 || leases[0].DSeq != 8438017 {
		t.Errorf("leases %v", leases)
	}
	if want := []string{"shop.example.com", "a.example.com", "a.example.com", "203.0.113.7", "2001:db8::1", "*.example.com"}; !slices.Equal(things, want) {
		t.Errorf("things %q, want %q", things, want)
	}
	if want := []string{"BlockedHost/bad.example.com", "blockedhost/bad.example.com", "LostMarks/ingress/a.example.com", "BlockedHost"}; !slices.Equal(problems, want) {
		t.Errorf("problems %q, want %q", problems, want)
	}
}

// All spellings of a thing give the printed name of the problem.
func TestProblemName(t *testing.T) {
	const order = "order/akash1h24fljt7p0nh82cq0za0uhsct3sfwsfu9w3c9h/8438017/1/1"
	for typed, want := range map[string]string{
		"HoldEnded/" + order:                       "HoldEnded/" + order,
		"HoldEnded/host/A.example.com.":            "HoldEnded/a.example.com",
		"UnreadableClaim/a.example.com":            "UnreadableClaim/a.example.com",
		"UnreadableClaim/rs--x/y z":                "UnreadableClaim/rs--x/y z",
		"SquattedAddress/ip/203.0.113.7":           "SquattedAddress/203.0.113.7",
		"HoldEnded/https://a.example.com/not?that": "HoldEnded/https://a.example.com/not?that",
	} {
		if got := problemName(typed); got != want {
			t.Errorf("%s is %s, want %s", typed, got, want)
		}
	}
}
