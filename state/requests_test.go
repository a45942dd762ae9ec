package state_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/hosttemplate"
	"github.com/akash-net/kubectl-akash-net/lease/input"
	. "github.com/akash-net/kubectl-akash-net/state"
	. "github.com/akash-net/kubectl-akash-net/state/statetest/claimtest"
)

// What a lease must hold: testdata/requests.txt. A definition is its services as YAML, then its endpoints; a
// configuration is the spec of a ProviderConfig. STATIC-web and GENERATED-web-80 are the hosts that the provider gives the lease itself,
// STATIC2-web and GENERATED2-web-80 those of A/2.
//
//	definition   SERVICES [endpoints: ENDPOINTS] | CONFIGURATION: what it asks for, and what is wrong with that
//	holds        the claims that it takes, in their order
//	granted      SERVICES [endpoints: ENDPOINTS] | what is withheld: HOST, HOST/PATH or PORT/PROTOCOL@ENDPOINT
//	named        HOST... [at ENDPOINT: ADDRESS...] | CONFIGURATION: what is asked for by name
func TestRequestTable(t *testing.T) {
	table(t, "requests.txt", map[string]func(*testing.T, string) string{
		"definition": func(t *testing.T, line string) string {
			f := fields(line, 2)
			req, problems := NewRequest(wordDefinition(t, f[0]), wordConfig(t, f[1]))
			return strings.NewReplacer(ownHosts(t)...).Replace(sayRequest(req, problems))
		},
		"holds": holdsInWords, "granted": grantedInWords, "named": namedInWords,
	})
}

// ownHosts are the names of the hosts that the provider gives leases, and the words for them.
func ownHosts(t *testing.T) (pairs []string) {
	for i, of := range []string{"", "2"} {
		id := WordLease(t, fmt.Sprint("A/", i+1))
		for _, service := range []string{"web", "api"} {
			pairs = append(pairs, id.StaticHost(service, "static.example"), "STATIC"+of+"-"+service)
			for _, port := range []uint16{80, 443, 8080} {
				pairs = append(pairs, hosttemplate.Host(id, "${service}-${dseq}.gen.example", service, port), fmt.Sprintf("GENERATED%s-%s-%d", of, service, port))
			}
		}
	}
	return pairs
}

func wordDefinition(t *testing.T, text string) *lease.Definition {
	pairs := ownHosts(t)
	slices.Reverse(pairs)
	services, endpoints, _ := strings.Cut(strings.NewReplacer(pairs...).Replace(text), " endpoints: ")
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
	def.Lease = WordLease(t, "A/1") // shorter to read
	return def
}

func wordConfig(t *testing.T, text string) *config.ProviderConfig {
	cfg, problems, err := config.Read(strings.NewReader("apiVersion: net.akash.network/v1alpha1\nkind: ProviderConfig\nspec: {"+text+"}\n"), "c")
	if err != nil || cfg == nil || problems.Failed() {
		t.Fatalf("%s: %v %v", text, problems, err)
	}
	return cfg
}

func sayRequest(r Request, problems lease.Problems) string {
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
	text := strings.Join(said, ", ")
	for _, p := range problems {
		text += " ! " + p.Error()
	}
	return strings.TrimPrefix(text, " ")
}

func holdsInWords(t *testing.T, line string) string {
	f := fields(line, 2)
	req, _ := NewRequest(wordDefinition(t, f[0]), wordConfig(t, f[1]))
	if at := req.At(); at.Line != 6 {
		t.Errorf("%s: it is asked for at %+v", line, at)
	}
	return each(holdsOf(req), func(h Hold) string {
		c := h.Claim()
		if c.Parts != nil || c.Name() != h.Name() {
			t.Errorf("%+v is to be the claim %+v", h, c)
		}
		if !slices.IsSortedFunc(h.Parts, func(a, b Part) int { return strings.Compare(a.Key, b.Key) }) {
			t.Errorf("the parts of %s are not in the order of their keys", h.Thing)
		}
		text := sayClaim(c)
		if h.At.Line > 0 {
			text += fmt.Sprintf(" (line %d)", h.At.Line)
		}
		return text + ": " + each(h.Parts, func(p Part) string { return fmt.Sprintf("%s at column %d", sayPart(p), req.PlaceOf(h, p).Column) })
	})
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
		protocol, number := (Part{Key: WordKey(port)}).ProtocolPort()
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
	pairs := ownHosts(t)
	slices.Reverse(pairs)
	hosts, rest, _ := strings.Cut(strings.NewReplacer(pairs...).Replace(f[0]), "at ")
	endpoint, addresses, _ := strings.Cut(rest, ": ")
	req, problems := NamedRequest(WordLease(t, "A/1"), strings.Fields(hosts), strings.Fields(addresses), endpoint, wordConfig(t, f[1]))
	if req.Lease != WordLease(t, "A/1") {
		t.Errorf("%s: it is asked for %s", line, req.Lease)
	}
	return strings.NewReplacer(ownHosts(t)...).Replace(sayRequest(req, problems))
}

// A definition that wants more parts of a claim than allowed is refused, with the place.
func TestOverfullRequests(t *testing.T) {
	id, cfg := WordLease(t, "A/1"), config.Default()
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
		def := &lease.Definition{Lease: id, IPEndpoints: []lease.IPEndpoint{{Name: "public"}}, Services: []lease.Service{{Name: "web"}}}
		for i := range n {
			def.Services[0].Expose = append(def.Services[0].Expose, lease.Expose{Port: uint16(1000 + i), Protocol: lease.TCP, Global: true, IP: "public", IPAt: lease.Place{File: "f", Line: 3, Column: 4}})
		}
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

// What each host of a port repeats is limited for the lease.
func TestSettingsAreLimited(t *testing.T) {
	e := lease.Expose{Port: 80, Global: true, Protocol: lease.TCP, Routing: &lease.Routing{
		Headers: lease.Headers{Response: []lease.HeaderRule{{Name: "a", Value: strings.Repeat("v", 16_000)}}},
	}}
	def := &lease.Definition{Services: []lease.Service{{Name: "a", Expose: []lease.Expose{e}}}}
	for hosts, want := range map[int]bool{1000: true, 1100: false} {
		def.Services[0].Expose[0].Hosts = make([]lease.Host, hosts)
		problems := CheckLimits(def, config.Default().Limits)
		if (len(problems) == 0) != want || !want && !strings.Contains(problems.Error(), "16 MiB of headers, labels and other settings") {
			t.Errorf("%d hosts: %v", hosts, problems)
		}
	}
}
