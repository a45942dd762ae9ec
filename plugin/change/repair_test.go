package change

import (
	"testing"
)

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
