package lease_test

import (
	"fmt"
	"net/netip"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/resources"
)

// full is a definition in which nothing is left out.
func full() *lease.Definition {
	w, at := uint16(90), []netip.Addr{netip.MustParseAddr("203.0.113.7"), netip.MustParseAddr("2001:db8::7")}
	return &lease.Definition{
		Lease: lease.ID{Owner: "akash1xqnd68gm", DSeq: 1, GSeq: 2, OSeq: 3, Provider: "akash1yqd7y67h"},
		Services: []lease.Service{
			{Name: "api", Expose: []lease.Expose{{Port: 80, Protocol: lease.TCP}}},
			{Name: "web", Target: "route", Expose: []lease.Expose{
				{Port: 53, As: 54, Protocol: lease.UDP, Global: true, IP: "public"},
				{
					Port: 8080, As: 80, Protocol: lease.TCP, Global: true, Path: "/v1", Hosts: []lease.Host{{Name: "a.example.com"}, {Name: "b.example.com"}},
					HTTP: lease.HTTPOptions{MaxBodySize: 1, ReadTimeout: 2 * time.Millisecond, SendTimeout: 3 * time.Millisecond, NextTries: 4, NextTimeout: 5 * time.Millisecond, NextCases: []string{"500", "502"}},
					Routing: &lease.Routing{
						TLS: &lease.TLS{
							Termination: lease.Reencrypt, Insecure: lease.InsecureAllow, SecretName: "s", DestinationCASecretName: "d",
							Issuer: &lease.Issuer{Name: "i", Kind: "K", Group: "a.b"},
						},
						Weight: &w, Backends: []lease.Backend{{Service: "api", Port: 80, Weight: 10}}, Sticky: &lease.Sticky{Cookie: "c", SameSite: "Lax"},
						Headers:     lease.Headers{Request: []lease.HeaderRule{{Name: "h", Value: "v"}}, Response: []lease.HeaderRule{{Name: "r", Delete: true}}},
						Annotations: []lease.RouteAnnotation{{Key: "haproxy.router.openshift.io/timeout", Value: "1s"}}, Labels: map[string]string{"l": "m", "k": "n"},
					},
				},
				{Port: 8443, Protocol: lease.TCP, Global: true, Routing: &lease.Routing{TLS: &lease.TLS{Termination: lease.Edge}}},
				{Port: 9000, As: 80, Protocol: lease.TCP, Global: true, Path: "/v2"},
			}},
		},
		IPEndpoints: []lease.IPEndpoint{{Name: "public", Addresses: at}},
	}
}

// running is full, read with workloads.
func running() *lease.Definition {
	d := full()
	d.Workloads = &lease.Workloads{Group: "west", Services: []lease.Workload{{
		Name: "web", Image: "nginx", Command: []string{"sh"}, Args: []string{"-c"}, Env: []string{"A=b"}, Count: 2,
		Resources: resources.Resources{
			ID: 1, CPU: 100, Memory: 1 << 30, GPU: resources.GPU{Units: 1, Attributes: []resources.Attribute{{Key: "vendor/nvidia/model/*", Value: "true"}}},
			Volumes:       []resources.Volume{{Name: "data", Size: 1 << 30, Attributes: []resources.Attribute{{Key: "class", Value: "beta2"}}}},
			Endpoints:     []resources.Endpoint{{Kind: resources.LeasedIP, Sequence: 1}},
			CPUAttributes: []resources.Attribute{{Key: "arch", Value: "arm64"}}, MemoryAttributes: []resources.Attribute{{Key: "a", Value: "b"}},
		},
		Params: &lease.Params{
			Storage:     []lease.Mount{{Volume: "data", Path: "/data"}},
			Permissions: &lease.Permissions{Read: []string{"logs"}},
		},
		Credentials: &lease.Credentials{Host: "registry.example.com", Email: "a@b", Username: "bob", Password: "secret"},
	}}}
	return d
}

// The password of a registry cannot be guessed from the hash that stands on objects.
func TestTheSumDoesNotRestOnPasswords(t *testing.T) {
	a, b := running(), running()
	b.Workloads.Services[0].Credentials.Password = ""
	if lease.SumWhole(a) != lease.SumWhole(b) {
		t.Error("the sum tells the password")
	}
	if lease.SumWhole(a) == lease.SumWhole(full()) {
		t.Error("what the lease runs makes no other sum")
	}
}

// The sum stands on every object: another sum for the same definition would have every lease written anew.
func TestTheSumOfADefinitionStays(t *testing.T) {
	d := full()
	if problems := lease.Check(d); len(problems) > 0 {
		t.Fatal(problems)
	}
	if got, want := lease.Sum(d), "g44cfinp0tk6vn3ob2klbu5ug8a3mdcn7qte7rcgfjdp3bmcit20"; got != want {
		t.Errorf("the sum is %s, want %s", got, want)
	}
	for _, s := range d.Services {
		for _, e := range s.Expose {
			slices.Reverse(e.Hosts)
		}
	}
	for _, e := range d.IPEndpoints {
		slices.Reverse(e.Addresses)
	}
	d.Name, d.At, d.Services[0].At, d.IPEndpoints[0].At = "other", lease.Place{Line: 1}, lease.Place{Line: 2}, lease.Place{Line: 3}
	if lease.Sum(d) != lease.Sum(full()) {
		t.Error("the order of hosts and addresses, names and places count")
	}
}

// Whatever one field says differently makes another sum: each leaf of a definition is changed once.
func TestTheSumTellsAllFieldsApart(t *testing.T) {
	seen := map[string]string{lease.SumWhole(running()): "nothing"}
	for i := 0; ; i++ {
		d := running()
		at, n := "", i
		changeLeaf(reflect.ValueOf(d).Elem(), "", &n, &at)
		if at == "" {
			break
		}
		sum := lease.SumWhole(d)
		if other, same := seen[sum]; same {
			t.Errorf("%s makes no other sum than %s", at, other)
		}
		seen[sum] = at
	}
	if len(seen) < 110 {
		t.Errorf("%d fields were changed", len(seen))
	}
}

// changeLeaf changes the nth field of a value that says anything, and where says which.
func changeLeaf(v reflect.Value, path string, n *int, where *string) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			switch name := v.Type().Field(i).Name; name {
			case "At", "HTTPAt", "IPAt", "PathAt", "Hash", "HostsWithheld": // what was read where, and what the ledger makes of it
			case "Password", "Scheduler": // no part of the sum
			default:
				if name != "Name" || path != "" { // a definition's name is for people
					changeLeaf(v.Field(i), path+"."+name, n, where)
				}
			}
		}
	case reflect.Pointer:
		if !v.IsNil() {
			changeLeaf(v.Elem(), path, n, where)
		}
	case reflect.Slice:
		for i := range v.Len() {
			if a, ok := v.Index(i).Addr().Interface().(*netip.Addr); ok {
				if *n--; *n == -1 {
					*a, *where = a.Next(), path
				}
				continue
			}
			changeLeaf(v.Index(i), fmt.Sprintf("%s[%d]", path, i), n, where)
		}
	case reflect.Map:
		if v.IsNil() {
			return
		}
		for _, key := range []string{"k", "l"} {
			if *n--; *n == -1 {
				v.SetMapIndex(reflect.ValueOf(key), reflect.ValueOf("other"))
				*where = path + "." + key
			}
		}
	default:
		if *n--; *n != -1 {
			return
		}
		*where = path
		switch v.Kind() {
		case reflect.Bool:
			v.SetBool(!v.Bool())
		case reflect.String:
			v.SetString(v.String() + "x")
		case reflect.Int64:
			v.SetInt(v.Int() + 1)
		default:
			v.SetUint(v.Uint() + 1)
		}
	}
}

func TestWhatADefinitionExposes(t *testing.T) {
	d := full()
	for at, want := range map[[2]string]uint16{{"a.example.com", "/v1"}: 8080, {"b.example.com", "/v1"}: 8080, {"a.example.com", "/"}: 0, {"c.example.com", "/v1"}: 0} {
		if got := d.Routed(at[0], at[1]); (got == nil) != (want == 0) || got != nil && got.Port != want {
			t.Errorf("%s leads to %+v, want port %d", at, got, want)
		}
	}
	if e := d.Endpoint("public"); e == nil || len(e.Addresses) != 2 || d.Endpoint("publi") != nil {
		t.Errorf("the endpoint is %+v", e)
	}
	if o := d.Services[1].Expose[1].Options(); o == nil || o.NextTries != 4 || d.Services[1].Expose[0].Options() != nil {
		t.Errorf("the options are %+v", o)
	}
	defaults := lease.HTTPOptions{
		MaxBodySize: 1048576, ReadTimeout: time.Minute, SendTimeout: time.Minute, NextTries: 3, NextCases: []string{"error", "timeout"},
	}
	if diff := cmp.Diff(defaults, lease.HTTPOptions{}.WithDefaults()); diff != "" {
		t.Errorf("Akash's defaults (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(lease.HTTPOptions{}, defaults.WithoutDefaults()); diff != "" {
		t.Errorf("what is left of them (-want +got):\n%s", diff)
	}
	said := d.Services[1].Expose[1].HTTP
	if diff := cmp.Diff(said, said.WithDefaults().WithoutDefaults()); diff != "" {
		t.Errorf("what is said is kept (-want +got):\n%s", diff)
	}
	host := []lease.Host{{Name: "a.example.com"}}
	for name, c := range map[string]struct {
		expose   lease.Expose
		exposes  bool
		unrouted int
	}{
		"nothing":          {lease.Expose{Port: 80, Protocol: lease.TCP}, false, 0},
		"a routed port":    {lease.Expose{Port: 80, Protocol: lease.TCP, Global: true}, true, 0},
		"another port":     {lease.Expose{Port: 81, Protocol: lease.TCP, Global: true}, false, 0},
		"a host":           {lease.Expose{Port: 81, Protocol: lease.TCP, Hosts: host}, true, 1},
		"a routed host":    {lease.Expose{Port: 80, Protocol: lease.TCP, Global: true, Hosts: host}, true, 0},
		"an address":       {lease.Expose{Port: 81, Protocol: lease.TCP, IP: "public"}, true, 0},
		"a host, and that": {lease.Expose{Port: 81, Protocol: lease.TCP, IP: "public", Hosts: host}, true, 0},
	} {
		d := &lease.Definition{Services: []lease.Service{{Name: "a"}, {Name: "b", Expose: []lease.Expose{c.expose}}}}
		if d.Exposes() != c.exposes || len(d.Unrouted()) != c.unrouted {
			t.Errorf("%s: exposes %v, unrouted %v", name, d.Exposes(), d.Unrouted())
		}
	}
}

// Exposes that are alike but for their hosts have one order, whatever that of the input.
func TestTheSumDoesNotRestOnTheOrderOfExposes(t *testing.T) {
	sum := func(hosts ...string) string {
		d := full()
		expose := lease.Expose{Port: 9999, Protocol: lease.TCP, Global: true}
		for _, host := range hosts {
			expose.Hosts = []lease.Host{{Name: host}}
			d.Services[0].Expose = append(d.Services[0].Expose, expose)
		}
		if problems := lease.Check(d); problems.Failed() {
			t.Fatal(problems)
		}
		return lease.Sum(d)
	}
	if sum("a.example.com", "b.example.com") != sum("b.example.com", "a.example.com") {
		t.Error("the order of exposes counts")
	}
}
