package thing

import (
	"testing"
)

const (
	owner = "akash1h24fljt7p0nh82cq0za0uhsct3sfwsfu9w3c9h"
	id    = owner + "/8438017/1/1/akash1nxq8gmsw2vlz3m68qvyvcf3kh6q269ajvqw6y0"
)

// What is printed is understood, and as the same thing.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{"shop.example.com", "host/a.b/c", "*.example.com", "https://a.b/c", "203.0.113.7", "ip/::1", "endpoint/public", id, "lease/" + id, "8438017", "problem/a/b"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		first, err := Parse(text)
		if err != nil {
			return
		}
		for _, printed := range []string{first.String(), Print(string(first.Kind), first.Name())} {
			again, err := Parse(printed)
			if again.Endpoint = first.Endpoint; err != nil || again != first {
				t.Errorf("%q is %q, which is read as %+v, error %v; want %+v", text, printed, again, err, first)
			}
		}
	})
}
