package plugin

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/akash-net/kubectl-akash-net/state/view"
)

// Names choose rows of the subjects before them; those that say what they are need no subject.
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

// What is no name, or no name of what is listed, is exit code 2 with what to type, before a cluster is asked.
func TestStateNamesThatAreNotUnderstood(t *testing.T) {
	for line, want := range map[string]string{
		"pods":                            `there is no subject "pods"; hosts, ips,`,
		"hosts 8438017":                   "OWNER/DSEQ/GSEQ",
		"hosts shop_example.com":          "is not a host name",
		"ips 203.0.113.0/28":              "is a range of addresses",
		"leases OWNER":                    "is an owner",
		"hosts 203.0.113.5":               "address/203.0.113.5 does not name any of the hosts; they are named by a host",
		"ips shop.example.com":            "host/shop.example.com does not name any of the ips",
		"leases shop.example.com":         "they are named by a lease (OWNER/DSEQ/GSEQ)",
		"pools akash":                     "they have no names to choose by",
		"routes ingress/ns/a":             "is no host, address, endpoint or lease",
		"hosts ips shop.example.com":      "no name is given for the ips; they are named by an address",
		"shop.example.com public":         `"public": which subject?`,
		"shop.example.com hosts":          "Subjects come before names",
		"hosts a.b -l x=y":                "--selector chooses rows by their labels",
		"hosts --ignore-not-found":        "--ignore-not-found is about names",
		"--problems problem/StrayRoute/a": "is no host, address, endpoint or lease",
		"--problems host/a.b":             "--problems cannot be combined with a subject",
	} {
		line = strings.ReplaceAll(line, "OWNER", testOwner)
		if code, _, errOut := main1(t, "", append([]string{"state"}, strings.Fields(line)...)...); code != codeUsage || !strings.Contains(errOut, want) {
			t.Errorf("state %s: exit code %d, %q; want 2 and %q", line, code, errOut, want)
		}
	}
}
