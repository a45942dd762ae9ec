package workload_test

import (
	"strings"
	"testing"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/workload"
)

// A definition is kept without its password, and read back without one.
func TestCredentialsNeedAHostAndAUser(t *testing.T) {
	for name, c := range map[string]struct {
		credentials *lease.Credentials
		service     string
		want        []string
	}{
		"none":               {nil, "web", nil},
		"complete":           {&lease.Credentials{Host: "ghcr.io", Username: "bob", Password: "x"}, "web", nil},
		"without a password": {&lease.Credentials{Host: "ghcr.io", Username: "bob"}, "web", nil},
		"without an email":   {&lease.Credentials{Host: "ghcr.io", Username: "bob"}, "web", nil},
		"without a host":     {&lease.Credentials{Username: "bob"}, "web", []string{"the credentials have no host"}},
		"with a blank user":  {&lease.Credentials{Host: "ghcr.io", Username: "\t "}, "web", []string{"the credentials have no username"}},
		"without anything":   {&lease.Credentials{}, "web", []string{"no host", "no username"}},
		"of a long name":     {&lease.Credentials{Host: "ghcr.io", Username: "bob"}, strings.Repeat("w", 240), nil},
		"of a name too long": {&lease.Credentials{Host: "ghcr.io", Username: "bob"}, strings.Repeat("w", 241), []string{"the Secret's name would have 254 characters"}},
	} {
		def := good()
		w := &def.Workloads.Services[0]
		w.Credentials = c.credentials
		w.Name, def.Services[0].Name = c.service, c.service
		var got []string
		for _, p := range workload.Check(def) {
			if strings.Contains(p.Message, "credentials") || strings.Contains(p.Message, "Secret") {
				got = append(got, p.Message)
			}
		}
		if len(got) != len(c.want) {
			t.Fatalf("%s: %q, want %q", name, got, c.want)
		}
		for i, want := range c.want {
			if !strings.Contains(got[i], want) {
				t.Errorf("%s: %q, want %q", name, got[i], want)
			}
		}
	}
}

// A value of a variable may be a secret: no message may repeat it.
func TestNoMessageHasTheValueOfAVariable(t *testing.T) {
	for _, entry := range []string{"=hunter2", "A\x00=hunter2", "A=hunter2\x00", "A=B=hunter2\x00", "ä\x01=hunter2"} {
		def := good()
		def.Workloads.Services[0].Env = []string{entry}
		problems := workload.Check(def)
		if !problems.Failed() || strings.Contains(problems.Error(), "hunter2") {
			t.Errorf("%q: problems %v", entry, problems)
		}
	}
	for _, entry := range []string{"A", "A=", "A=b=c", "a.b-c=d", "-1=2", "A=\n"} {
		def := good()
		def.Workloads.Services[0].Env = []string{entry}
		if problems := workload.Check(def); len(problems) > 0 {
			t.Errorf("%q: problems %v", entry, problems)
		}
	}
}

// Only a service with a port on the nodes has a NodePort Service whose name must be free.
func TestTheNodePortServiceNeedsAName(t *testing.T) {
	for name, c := range map[string]struct {
		expose lease.Expose
		other  string
		want   string
	}{
		"a free name":               {lease.Expose{Port: 81, Protocol: lease.TCP, Global: true}, "api", ""},
		"the name of a service":     {lease.Expose{Port: 81, Protocol: lease.TCP, Global: true}, "web-np", `would have the name of the service "web-np"`},
		"a routed port has none":    {lease.Expose{Port: 80, Protocol: lease.TCP, Global: true}, "web-np", ""},
		"an internal port has none": {lease.Expose{Port: 81, Protocol: lease.TCP}, "web-np", ""},
		"a UDP port has one":        {lease.Expose{Port: 80, Protocol: lease.UDP, Global: true}, "web-np", `would have the name of the service "web-np"`},
	} {
		def := good()
		def.Services[0].Expose = []lease.Expose{c.expose}
		other := def.Workloads.Services[0]
		other.Name = c.other
		def.Workloads.Services = append(def.Workloads.Services, other)
		problems := workload.Check(def)
		if (len(problems) == 0) != (c.want == "") || !strings.Contains(problems.Error(), c.want) {
			t.Errorf("%s: problems %v, want %q", name, problems, c.want)
		}
	}
}
