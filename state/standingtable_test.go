package state

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/akash-net/kubectl-akash-net/lease"
)

// What a claim means for the objects that serve a thing: testdata/standing.txt. An object is "LEASE serves KEY [redirect]
// [for ENDPOINT]".
//
//	standing   an object | the claim on what it serves | the claim on the wildcard above it
//	gives      an object to LEASE | the claim: whether the claim gives that lease what the object serves
//	serves-for an object | the claim: the part that it serves for another since a transfer
//	former     a part: the deployment group whose objects still serve it
//	hold       LEASE USE [PORT to SERVICE:PORT]: what the lease of an object is to hold of what it uses
func TestStandingTable(t *testing.T) {
	table(t, "standing.txt", map[string]func(*testing.T, string) string{
		"standing": standingInWords, "gives": givesInWords, "serves-for": servesForInWords, "former": formerInWords, "hold": useHoldInWords,
	})
}

func wordServed(t *testing.T, text string) Served {
	words := strings.Fields(text)
	id := wordLease(t, words[0])
	s := Served{Group: id.Group(), Key: wordKey(words[2])}
	for i, word := range words {
		switch word {
		case "redirect":
			s.Redirect = true
		case "for":
			s.SharingKey = lease.SharingKey(id.Owner, words[i+1])
		}
	}
	return s
}

func standingInWords(t *testing.T, line string) string {
	f := fields(line, 3)
	claim, over := wordClaim(t, f[1]), wordClaim(t, f[2])
	standing, by := wordServed(t, f[0]).Standing(claim, over)
	text := map[Standing]string{Unclaimed: "unclaimed", Entitled: "entitled", Stray: "stray", Unknown: "unknown"}[standing]
	switch {
	case by != nil && by == claim:
		text += " by the claim"
	case by != nil && by == over:
		text += " by the wildcard"
	case by != nil:
		t.Errorf("%s: it is by %+v", line, by)
	}
	return text
}

func givesInWords(t *testing.T, line string) string {
	f := fields(line, 2)
	served, to, _ := strings.Cut(f[0], " to ")
	return fmt.Sprint(wordServed(t, served).Gives(wordClaim(t, f[1]), wordLease(t, to).Group()))
}

func servesForInWords(t *testing.T, line string) string {
	f := fields(line, 2)
	s, c := wordServed(t, f[0]), wordClaim(t, f[1])
	p := c.ServesFor(s.Group, s.Key, s.Redirect)
	if p == nil {
		return "nobody"
	}
	return sayPart(*p)
}

func formerInWords(t *testing.T, line string) string {
	if g, ok := wordPart(t, line).Former(); ok {
		return g.String()
	}
	return "none"
}

// useHoldInWords: "A/1 host a.example.com/v1 to web:80" or "A/1 address 203.0.113.7 443/tcp for ENDPOINT to web:8443".
func useHoldInWords(t *testing.T, line string) string {
	words := strings.Fields(line)
	id := wordLease(t, words[0])
	o := &OwnObject{Ownership: Ownership{Lease: id, HasLease: true}}
	var u Use
	backend := wordPart(t, "/ "+words[0]+" "+words[len(words)-1])
	if words[1] == "address" {
		u = Use{Address: wordAddresses(t, words[2])[0], SharingKey: lease.SharingKey(id.Owner, words[5])}
		protocol, port := (Part{Key: wordKey(words[3])}).ProtocolPort()
		o.Port = PortWant{Protocol: protocol, ExternalPort: port, Service: backend.Service, Port: backend.Port}
	} else {
		host, path, hasPath := strings.Cut(words[2], "/")
		if u = (Use{Host: host, Service: backend.Service, Port: backend.Port}); hasPath {
			u.Path = "/" + path
		}
	}
	h := u.Hold(o)
	if h.Thing != u.Thing() || len(h.Parts) != 1 || h.Parts[0].Key != u.PartKey(o) {
		t.Errorf("%s: of %s at %s it is to hold %+v", line, u.Thing(), u.PartKey(o), h)
	}
	if again := holdsOf(h.Request()); len(again) != 1 || !reflect.DeepEqual(again[0], h) {
		t.Errorf("%s: the request for %+v is for %+v", line, h, again)
	}
	return fmt.Sprintf("%s %s %s: %s", h.Kind, h.Thing, h.SharingKey, sayParts(h.Parts))
}

// holdsOf returns the holds of a request that names its addresses.
func holdsOf(r Request) []Hold {
	holds := r.HostHolds()
	for _, e := range r.Endpoints {
		for _, a := range e.Addresses {
			holds = append(holds, e.Hold(r.Lease, a))
		}
	}
	return holds
}
