package lease_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/akash-net/kubectl-akash-net/lease"
)

// Ports on IP endpoints, by the exposes of the service web; the endpoints pub and pub2 are declared where they are named.
func TestPortsOnEndpoints(t *testing.T) {
	for exposes, want := range map[string]string{
		"{port: 443, global: true, ip: pub}":                                                     "",
		"{port: 443, global: true, ip: pub}, {port: 443, protocol: UDP, global: true, ip: pub2}": "",
		"{port: 443, global: true, ip: pub}, {port: 444, global: true, ip: pub2}":                "",
		"{port: 443, global: true, ip: pub}, {port: 443, as: 444, global: true, ip: pub2}":       "",
		"{port: 443, global: true, ip: pub}, {port: 443, global: true}":                          "",
		// The Service of a port is named by service, port and protocol: there is one for all endpoints.
		"{port: 443, global: true, ip: pub}, {port: 443, global: true, ip: pub2}":                                     `:1:99: spec.services[0].expose[1].ip: port 443/TCP of service "web" is on the IP endpoints "pub" and "pub2" (also in line 2), and both would have the Service "web-ip-443-tcp": give one of them another port with "as"`,
		"{port: 444, as: 443, global: true, ip: pub2}, {port: 443, global: true, ip: pub}":                            `:1:109: spec.services[0].expose[1].ip: port 443/TCP of service "web" is on the IP endpoints "pub" and "pub2"`,
		"{port: 53, protocol: UDP, global: true, ip: pub}, {port: 54, as: 53, protocol: UDP, global: true, ip: pub2}": `the Service "web-ip-53-udp"`,
		// The same on one endpoint is told once.
		"{port: 443, global: true, ip: pub}, {port: 443, global: true, ip: pub}": `port 443/TCP of IP endpoint "pub" is claimed twice, by service "web" and service "web" (also in line 2)`,
		"{port: 443, ip: pub}": `a port on an IP endpoint must be global; add "global: true"`,
	} {
		endpoints := ""
		for _, name := range []string{"pub", "pub2"} {
			if strings.Contains(exposes, "ip: "+name+"}") {
				endpoints += "{name: " + name + "}, "
			}
		}
		said := told(t, "services: [{name: web, expose: ["+exposes+"]}]\nipEndpoints: ["+endpoints+"]")
		if !strings.Contains(said, want) || want == "" && said != "" || strings.Count(said, "\n") > 1 {
			t.Errorf("%s:\n%swant %s", exposes, said, want)
		}
	}
}

// An endpoint may not be named like the hash by which another is called: MetalLB would give both one address.
func TestEndpointsOfOneSharingKey(t *testing.T) {
	hash := strings.TrimPrefix(lease.SharingKey("", "my_ip"), "-ip-")
	for names, want := range map[string]string{
		"my_ip, " + hash:       `:2:37: spec.ipEndpoints[1].name: the IP endpoints "` + hash + `" and "my_ip" (also in line 3) have the same sharing key, so both would have the same address: rename one of them`,
		hash + ", my_ip":       `spec.ipEndpoints[1].name: the IP endpoints "` + hash + `" and "my_ip" (also in line 3) have the same sharing key`,
		"my_ip, my-ip":         "",
		"my_ip, your_ip":       "",
		"my_ip, " + hash + "x": "",
	} {
		first, second, _ := strings.Cut(names, ", ")
		said := told(t, "services: [{name: web, expose: [{port: 443, global: true, ip: "+first+"}, {port: 444, global: true, ip: "+second+"}]}]\nipEndpoints: [{name: "+first+"}, {name: "+second+"}]")
		if !strings.Contains(said, want) || want == "" && said != "" || strings.Count(said, "\n") > 1 {
			t.Errorf("%s:\n%swant %s", names, said, want)
		}
	}
}

// Of the ports that are accepted no two have a Service, or a ProviderLeasedIP, of one name.
func TestNamesOfLeasedPortsDiffer(t *testing.T) {
	accepted := 0
	rapid.Check(t, func(t *rapid.T) {
		d := &lease.Definition{Lease: lease.ID{Owner: "akash1xqnd68gm", DSeq: 1, GSeq: 1, OSeq: 1, Provider: "akash1yqd7y67h"}}
		used := map[string]bool{}
		for _, name := range []string{"web", "api"} {
			s := lease.Service{Name: name}
			for range rapid.IntRange(0, 3).Draw(t, "ports") {
				e := lease.Expose{
					Port: rapid.Uint16Range(80, 81).Draw(t, "port"), As: rapid.SampledFrom([]uint16{0, 80, 443}).Draw(t, "as"), Global: true,
					Protocol: rapid.SampledFrom([]lease.Protocol{lease.TCP, lease.UDP}).Draw(t, "protocol"), IP: rapid.SampledFrom([]string{"pub", "my_ip"}).Draw(t, "ip"),
				}
				used[e.IP] = true
				s.Expose = append(s.Expose, e)
			}
			d.Services = append(d.Services, s)
		}
		for name := range used {
			d.IPEndpoints = append(d.IPEndpoints, lease.IPEndpoint{Name: name})
		}
		if lease.Check(d).Failed() {
			return
		}
		accepted++
		names := map[string]bool{}
		for _, s := range d.Services {
			for _, e := range s.Expose {
				for _, name := range []string{lease.IPServiceName(s.Name, e.ExternalPort(), e.Protocol), lease.LeasedIPName(lease.SharingKey("akash1xqnd68gm", e.IP), e.Protocol, e.ExternalPort())} {
					if names[name] {
						t.Fatalf("two objects are named %s", name)
					}
					names[name] = true
				}
			}
		}
	})
	if accepted == 0 {
		t.Error("no definition was accepted")
	}
}
