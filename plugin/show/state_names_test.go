package show

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/akash-net/kubectl-akash-net/state/view"
)

// Names follow subjects; names that show their kind need no subject.
func TestParseStateArgs(t *testing.T) {
	type parsed struct {
		Subjects []view.Subject
		Things   []string
	}
	const typed = "akash1h24fljt7p0nh82cq0za0uhsct3sfwsfu9w3c9h/8438017/1/1/akash1nxq8gmsw2vlz3m68qvyvcf3kh6q269ajvqw6y0"
	lease := "lease/" + typed
	for words, want := range map[string]parsed{
		"hosts":                                {Subjects: []view.Subject{view.SubjectHosts}},
		"hosts shop.example.com":               {[]view.Subject{view.SubjectHosts}, []string{"host/shop.example.com"}},
		"hosts Shop.example.com. host/a/b ips": {[]view.Subject{view.SubjectHosts}, []string{"host/shop.example.com", "host/a/b", "host/ips"}},
		"hosts pods":                           {[]view.Subject{view.SubjectHosts}, []string{"host/pods"}},
		"hosts a.b a.b":                        {[]view.Subject{view.SubjectHosts}, []string{"host/a.b"}},
		"ips public 203.0.113.5":               {[]view.Subject{view.SubjectIPs}, []string{"host/public", "address/203.0.113.5"}},
		"ips ip/2001:DB8::1":                   {[]view.Subject{view.SubjectIPs}, []string{"address/2001:db8::1"}},
		"hosts,routes dns *.example.com":       {[]view.Subject{view.SubjectHosts, view.SubjectRoutes, view.SubjectDNS}, []string{"host/*.example.com"}},
		"leases LEASE":                         {[]view.Subject{view.SubjectLeases}, []string{lease}},
		"shop.example.com":                     {[]view.Subject{view.SubjectHosts}, []string{"host/shop.example.com"}},
		"LEASE endpoint/public host/a":         {[]view.Subject{view.SubjectHosts, view.SubjectIPs, view.SubjectLeases}, []string{lease, "endpoint/public", "host/a"}},
		"ips address/203.0.113.5":              {[]view.Subject{view.SubjectIPs}, []string{"address/203.0.113.5"}},
		"https://shop.example.com/x":           {[]view.Subject{view.SubjectHosts}, []string{"host/shop.example.com/x"}},
	} {
		subjects, things, err := parseStateArgs(strings.Fields(strings.ReplaceAll(words, "LEASE", typed)))
		if err != nil {
			t.Errorf("%q: %v", words, err)
		}
		got := parsed{Subjects: subjects}
		for _, n := range things {
			got.Things = append(got.Things, n.String())
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", words, diff)
		}
	}
}
