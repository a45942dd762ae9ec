package state

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/hosttemplate"
	"github.com/akash-net/kubectl-akash-net/lease/input"
)

// What a lease must hold: testdata/requests.txt. A definition is its services as YAML, then its endpoints; a
// configuration is the spec of a ProviderConfig.
//
//	definition   SERVICES [endpoints: ENDPOINTS] | CONFIGURATION: what it asks for, and what is wrong with that
//	holds        the claims that it takes, in their order
//	granted      SERVICES [endpoints: ENDPOINTS] | what is withheld: HOST, HOST/PATH or PORT/PROTOCOL@ENDPOINT
//	named        HOST... [at ENDPOINT: ADDRESS...] | CONFIGURATION: what is asked for by name
func TestRequestTable(t *testing.T) {
	table(t, "requests.txt", map[string]func(*testing.T, string) string{
		"definition": definitionInWords, "holds": holdsInWords, "granted": grantedInWords, "named": namedInWords,
	})
}

func wordDefinition(t *testing.T, text string) *lease.Definition {
	services, endpoints, _ := strings.Cut(text, " endpoints: ")
	if endpoints = strings.TrimSpace(endpoints); endpoints == "" {
		endpoints = "[]"
	}
	const owner, provider = "akash1h24fljt7p0nh82cq0za0uhsct3sfwsfu9w3c9h", "akash1nxq8gmsw2vlz3m68qvyvcf3kh6q269ajvqw6y0"
	head := "apiVersion: net.akash.network/v1alpha1\nkind: LeaseDefinition\nmetadata: {name: d}\nspec:\n  lease: {owner: " + owner + ", dseq: 1, gseq: 1, oseq: 1, provider: " + provider + "}\n"
	var def *lease.Definition
	problems, err := input.Read(context.Background(), strings.NewReader(head+"  services: "+services+"\n  ipEndpoints: "+endpoints+"\n"), "f", input.Options{}, func(d *lease.Definition) error {
		def = d
		return nil
	})
	if err != nil || problems.Failed() || def == nil {
		t.Fatalf("%s: %v %v", text, problems, err)
	}
	def.Lease = wordLease(t, "A/1") // shorter to read
	return def
}

func wordConfig(t *testing.T, text string) *config.ProviderConfig {
	cfg, problems, err := config.Read(strings.NewReader("apiVersion: net.akash.network/v1alpha1\nkind: ProviderConfig\nspec: {"+text+"}\n"), "c")
	if err != nil || cfg == nil || problems.Failed() {
		t.Fatalf("%s: %v %v", text, problems, err)
	}
	return cfg
}

func sayRequest(r Request) string {
	var said []string
	for _, h := range r.Hosts {
		text := fmt.Sprintf("%s%s to %s:%d", h.Host, h.Path, h.Service, h.Port)
		if h.Service == "" {
			text = h.Host + h.Path
		}
		if h.Own {
			text += " given"
		}
		said = append(said, text)
	}
	for _, e := range r.Endpoints {
		text := fmt.Sprintf("%s (%s)", e.Name, e.SharingKey)
		for _, a := range e.Addresses {
			text += " " + a.String()
		}
		if len(e.Addresses) == 0 {
			text += fmt.Sprintf(" any of %v", e.Families)
		}
		for _, p := range e.Ports {
			text += fmt.Sprintf(" %d/%s to %s:%d", p.ExternalPort, p.Protocol, p.Service, p.Port)
		}
		said = append(said, text)
	}
	return strings.Join(said, ", ")
}

func sayProblems(said string, problems lease.Problems) string {
	for _, p := range problems {
		said += " ! " + p.Error()
	}
	return strings.TrimPrefix(said, " ")
}

// hideHosts replaces generated host names by what they are made of.
func hideHosts(text string) string {
	id := lease.ID{Owner: "akash1a", DSeq: 1, GSeq: 1, OSeq: 1, Provider: "akash1p"}
	var pairs []string
	for _, service := range []string{"web", "api"} {
		pairs = append(pairs, id.StaticHost(service, "static.example"), "STATIC-"+service)
		for _, port := range []uint16{80, 443, 8080} {
			pairs = append(pairs, hosttemplate.Host(id, "${service}.gen.example", service, port), fmt.Sprintf("GENERATED-%s-%d", service, port))
		}
	}
	return strings.NewReplacer(pairs...).Replace(text)
}

func definitionInWords(t *testing.T, line string) string {
	f := fields(line, 2)
	req, problems := NewRequest(wordDefinition(t, f[0]), wordConfig(t, f[1]))
	return hideHosts(sayProblems(sayRequest(req), problems))
}

func holdsInWords(t *testing.T, line string) string {
	f := fields(line, 2)
	req, _ := NewRequest(wordDefinition(t, f[0]), wordConfig(t, f[1]))
	holds := req.HostHolds()
	for _, e := range req.Endpoints {
		for _, a := range e.Addresses {
			holds = append(holds, e.Hold(req.Lease, a))
		}
		if len(e.Addresses) == 0 {
			holds = append(holds, e.EndpointHold(req.Lease))
		}
	}
	var said []string
	for _, h := range holds {
		c := h.Claim()
		if c.Parts != nil || c.Name() != h.Name() {
			t.Errorf("%+v is to be the claim %+v", h, c)
		}
		for i := 1; i < len(h.Parts); i++ {
			if h.Parts[i].Key < h.Parts[i-1].Key {
				t.Errorf("the parts of %s are not in the order of their keys", h.Thing)
			}
		}
		text := sayClaim(c)
		if h.At.Line > 0 {
			text += fmt.Sprintf(" (line %d)", h.At.Line)
		}
		said = append(said, text+": "+sayParts(h.Parts))
	}
	return strings.Join(said, "; ")
}

func grantedInWords(t *testing.T, line string) string {
	f := fields(line, 2)
	def := wordDefinition(t, f[0])
	hosts, ports := map[string]bool{}, map[string]bool{}
	for word := range strings.FieldsSeq(f[1]) {
		port, endpoint, isPort := strings.Cut(word, "@")
		if !isPort {
			hosts[word] = true
			continue
		}
		protocol, number := (Part{Key: wordKey(port)}).ProtocolPort()
		ports[lease.LeasedIPName(lease.SharingKey(def.Lease.Owner, endpoint), protocol, number)] = true
	}
	before := fmt.Sprintf("%+v", def)
	granted := Granted(def, hosts, ports)
	if fmt.Sprintf("%+v", def) != before {
		t.Errorf("%s: the definition has become %+v", line, def)
	}
	var said []string
	for _, s := range granted.Services {
		for _, e := range s.Expose {
			text := fmt.Sprintf("%s:%d", s.Name, e.ExternalPort())
			for _, h := range e.Hosts {
				text += " " + lease.HostPath(h.Name, e.RoutePath())
			}
			if e.HostsWithheld {
				text += " (all hosts withheld)"
			}
			if e.IP != "" {
				text += " at " + e.IP
			}
			said = append(said, text)
		}
	}
	return strings.Join(said, ", ")
}

func namedInWords(t *testing.T, line string) string {
	f := fields(line, 2)
	hosts, rest, _ := strings.Cut(f[0], "at ")
	endpoint, addresses, _ := strings.Cut(rest, ": ")
	req, problems := NamedRequest(wordLease(t, "A/1"), strings.Fields(hosts), strings.Fields(addresses), endpoint, wordConfig(t, f[1]))
	if req.Lease != wordLease(t, "A/1") {
		t.Errorf("%s: it is asked for %s", line, req.Lease)
	}
	return sayProblems(sayRequest(req), problems)
}

func wordAddresses(t *testing.T, text string) []netip.Addr {
	a, err := netip.ParseAddr(text)
	if err != nil {
		t.Fatal(err)
	}
	return []netip.Addr{a}
}

// A definition that wants more parts of a claim than allowed is refused, with the place.
func TestOverfullRequests(t *testing.T) {
	id, cfg := wordLease(t, "A/1"), config.Default()
	paths := func(n int) []string {
		hosts := make([]string, n)
		for i := range hosts {
			hosts[i] = fmt.Sprintf("a.example.com/p%d", i)
		}
		return hosts
	}
	if _, problems := NamedRequest(id, paths(MaxParts), nil, "", cfg); len(problems) > 0 {
		t.Errorf("%d paths: %v", MaxParts, problems)
	}
	if _, problems := NamedRequest(id, paths(MaxParts+1), nil, "", cfg); problems.Error() != "a.example.com has 501 paths, and a claim has at most 500" {
		t.Errorf("%d paths: %v", MaxParts+1, problems)
	}
	ports := func(n int) *lease.Definition {
		def := &lease.Definition{Lease: id, IPEndpoints: []lease.IPEndpoint{{Name: "public"}}}
		s := lease.Service{Name: "web"}
		for i := range n {
			s.Expose = append(s.Expose, lease.Expose{Port: uint16(1000 + i), Protocol: lease.TCP, Global: true, IP: "public", IPAt: lease.Place{File: "f", Line: 3, Column: 4}})
		}
		def.Services = []lease.Service{s}
		return def
	}
	cfg.IP.Mode = config.ModePool
	if _, problems := NewRequest(ports(MaxParts), cfg); len(problems) > 0 {
		t.Errorf("%d ports: %v", MaxParts, problems)
	}
	if _, problems := NewRequest(ports(MaxParts+1), cfg); problems.Error() != `f:3:4: IP endpoint "public" has 501 ports, and the claim on an address has at most 500` {
		t.Errorf("%d ports: %v", MaxParts+1, problems)
	}
}
