package state_test

import (
	"fmt"
	"maps"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/akash-net/kubectl-akash-net/lease"
	. "github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/statetest"
	. "github.com/akash-net/kubectl-akash-net/state/statetest/claimtest"
)

// What a lease may do with a thing: testdata/verdicts.txt has the table of docs/ledger.md row by row, and what decides
// between its rows.
//
//	decide   LEASE wants PART... of KIND THING | the claim on it | what uses it | options
//	fit      a number of parts, of notes and of groups that a claim has | what is wanted anew
func TestVerdicts(t *testing.T) {
	table(t, "verdicts.txt", map[string]func(*testing.T, string) string{"decide": decideInWords, "fit": fitInWords})
}

func decideInWords(t *testing.T, line string) string {
	f := fields(line, 4)
	who, what, _ := strings.Cut(f[0], " wants ")
	keys, thing, _ := strings.Cut(what, " of ")
	want := WordClaim(t, thing+" "+who[:1]+":")
	hold := Hold{Kind: want.Kind, Thing: want.Thing, SharingKey: want.SharingKey}
	for key := range strings.FieldsSeq(keys) {
		hold.Parts = append(hold.Parts, WordPart(t, key+" "+who))
	}
	judge := Judge{Group: WordLease(t, who).Group(), Now: Now, Adopt: strings.Contains(f[3], "adopt"), OnePort: strings.Contains(f[3], "one-port")}
	return each(hold.Parts, func(p Part) string {
		found := judge.Decide(hold, p.Key, WordClaim(t, f[1]), wordUses(t, f[2]))
		verdict := map[Verdict]string{Free: "free", Mine: "mine", Withheld: "withheld", Held: "held", Going: "going", Expired: "expired"}[found.Verdict]
		return strings.TrimSpace(verdict + " " + statetest.Say(found.By))
	})
}

// fitInWords prints whether something fits: "480 parts 15 notes 40 groups | A/1 wants 3".
func fitInWords(t *testing.T, line string) string {
	f := fields(line, 2)
	var parts, notes, groups, more int
	var who string
	if _, err := fmt.Sscanf(f[0]+" "+f[1], "%d parts %d notes %d groups %s wants %d", &parts, &notes, &groups, &who, &more); err != nil {
		t.Fatal(err)
	}
	c := &Claim{Kind: Host, Thing: "a.example.com", Owner: "akash1a", Parts: make([]Part, 0, parts)}
	for i := range parts + notes {
		p := WordPart(t, fmt.Sprintf("/%d A/%d", i, i%groups+1))
		if i < parts {
			c.Parts = append(c.Parts, p)
		} else {
			c.Waits = append(c.Waits, p.Wait("", nil))
		}
	}
	want := Hold{Kind: Host, Thing: c.Thing}
	for i := range more {
		want.Parts = append(want.Parts, WordPart(t, fmt.Sprintf("/new%d %s", i, who)))
	}
	if strings.Contains(f[1], "beside what it has") {
		want.Parts = append(slices.Clone(c.Parts), want.Parts...)
	}
	found := Judge{Group: WordLease(t, who).Group(), Now: Now}.Decide(want, RouteKey("/new0"), c, nil)
	text := "fits"
	if found.Verdict == Held {
		text = "does not fit: " + found.By.Reason
	}
	if c.Full(WordLease(t, who).Group()) {
		text += "; nor does a note"
	}
	return text
}

// What a claim means for the objects that serve a thing: testdata/standing.txt. An object is "LEASE serves KEY [redirect]
// [for ENDPOINT]".
//
//	standing   an object | the claim on what it serves | the claim on the wildcard above it
//	gives      an object to LEASE | the claim: whether the claim gives that lease what the object serves
//	serves-for an object | the claim: the part that it serves for another since a transfer
//	former     a part: the deployment group whose objects still serve it
//	hold       LEASE USE [PORT to SERVICE:PORT]: what the lease of an object is to hold of what it uses
//	elsewhere  a lease or an order | the leases that are live: that of them which is live in its place
//	reserve    the part that is held | the part that is wanted | the leases that are live: what a reservation makes of it
func TestStandingTable(t *testing.T) {
	table(t, "standing.txt", map[string]func(*testing.T, string) string{
		"standing": standingInWords, "hold": useHoldInWords,
		"gives": func(t *testing.T, line string) string {
			f := fields(line, 2)
			served, to, _ := strings.Cut(f[0], " to ")
			return fmt.Sprint(wordServed(t, served).Gives(WordClaim(t, f[1]), WordLease(t, to).Group()))
		},
		"serves-for": func(t *testing.T, line string) string {
			f := fields(line, 2)
			s := wordServed(t, f[0])
			if p := WordClaim(t, f[1]).ServesFor(s.Group, s.Key, s.Redirect); p != nil {
				return sayPart(*p)
			}
			return "nobody"
		},
		"former": func(t *testing.T, line string) string {
			if g, ok := WordPart(t, line).Former(); ok {
				return g.String()
			}
			return "none"
		},
		"elsewhere": func(t *testing.T, line string) string {
			f := fields(line, 2)
			if id, ok := Elsewhere(WordLease(t, f[0]), wordLeases(t, f[1])); ok {
				return id.String()
			}
			return "none"
		},
		"reserve": func(t *testing.T, line string) string {
			f := fields(line, 3)
			part, by := WordPart(t, f[0]).Reserve(WordPart(t, f[1]), wordLeases(t, f[2]))
			if by == (lease.ID{}) {
				return sayPart(part)
			}
			return sayPart(part) + ", served by " + by.String()
		},
	})
}

func wordLeases(t *testing.T, text string) (ids []lease.ID) {
	for word := range strings.FieldsSeq(text) {
		ids = append(ids, WordLease(t, word))
	}
	return ids
}

func wordServed(t *testing.T, text string) Served {
	words := strings.Fields(text)
	id := WordLease(t, words[0])
	s := Served{Group: id.Group(), Key: WordKey(words[2])}
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
	claim, over := WordClaim(t, f[1]), WordClaim(t, f[2])
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

// useHoldInWords: "A/1 host a.example.com/v1 to web:80" or "A/1 address 203.0.113.7 443/tcp for ENDPOINT to web:8443".
func useHoldInWords(t *testing.T, line string) string {
	words := strings.Fields(line)
	id := WordLease(t, words[0])
	o := &OwnObject{Ownership: Ownership{Lease: id, HasLease: true}}
	var u Use
	backend := WordPart(t, "/ "+words[0]+" "+words[len(words)-1])
	if words[1] == "address" {
		u = Use{Address: netip.MustParseAddr(words[2]), SharingKey: lease.SharingKey(id.Owner, words[5])}
		protocol, port := (Part{Key: WordKey(words[3])}).ProtocolPort()
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
	return fmt.Sprintf("%s %s %s: %s", h.Kind, h.Thing, h.SharingKey, each(h.Parts, sayPart))
}

// holdsOf returns the holds of a request, of its addresses where it names some.
func holdsOf(r Request) []Hold {
	holds := r.HostHolds()
	for _, e := range r.Endpoints {
		for _, a := range e.Addresses {
			holds = append(holds, e.Hold(r.Lease, a))
		}
		if len(e.Addresses) == 0 {
			holds = append(holds, e.EndpointHold(r.Lease))
		}
	}
	return holds
}

// The order in which leases of one input are served: testdata/order.txt.
//
//	serve   leases, ";" between them: what each asks for, and after "-" what it gives up, with "/" before a part. One with an endpoint,
//	        "ip", is not alone. It answers in which order, which of them each waits for, who is alone, and who is given something by one before it
//	wish    SERVICES [endpoints: ENDPOINTS] | CONFIGURATION | the claims that the lease holds | what it serves: what it asks for, and gives up
func TestOrderTable(t *testing.T) {
	table(t, "order.txt", map[string]func(*testing.T, string) string{
		"serve": func(_ *testing.T, line string) string {
			s := Serve(wishes(strings.Split(line, ";")))
			for _, after := range s.After {
				slices.Sort(after)
			}
			return fmt.Sprintf("%v, after %v, alone %v, given %v", s.Order, s.After, s.Alone, s.Given)
		},
		"wish": func(t *testing.T, line string) string {
			f := fields(line, 4)
			req, _ := NewRequest(wordDefinition(t, f[0]), wordConfig(t, f[1]))
			return statetest.Say(WishOf(req, wordClaims(t, f[2]), strings.Fields(f[3])))
		},
	})
}

func wishes(leases []string) (out []Wish) {
	for _, text := range leases {
		asks, gives, _ := strings.Cut(text, "-")
		if strings.Contains(text, "--") { // a name has dashes too
			asks, gives, _ = strings.Cut(text, " - ")
		}
		w := Wish{Asks: strings.Fields(asks), Gives: strings.Fields(gives)}
		for _, names := range [][]string{w.Asks, w.Gives} {
			for i, name := range names {
				names[i] = strings.Replace(name, "/", " ", 1)
			}
		}
		w.Alone = !slices.Contains(w.Asks, "ip")
		out = append(out, w)
	}
	return out
}

// Every lease is served once, after all that it follows; of two that touch the same, and one asks for it, one follows the other.
func TestServeInAnyOrder(t *testing.T) {
	names := rapid.SliceOfN(rapid.SampledFrom([]string{"x.example.com", "y.example.com", "wc--any.example.com", "ip"}), 0, 3)
	rapid.Check(t, func(t *rapid.T) {
		leases := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) string {
			return strings.Join(names.Draw(t, "asks"), " ") + " - " + strings.Join(names.Draw(t, "gives"), " ")
		}), 0, 6).Draw(t, "leases")
		all := wishes(leases)
		s := Serve(all)
		rank := make([]int, len(all))
		for k, i := range s.Order {
			rank[i] = k
		}
		if sorted := slices.Sorted(slices.Values(s.Order)); len(sorted) != len(all) || len(slices.Compact(sorted)) != len(all) {
			t.Fatalf("%q are served in the order %v", leases, s.Order)
		}
		follows := make([]map[int]bool, len(all)) // directly or not
		for _, i := range s.Order {
			follows[i] = map[int]bool{}
			for _, before := range s.After[i] {
				if rank[before] >= rank[i] {
					t.Fatalf("of %q %d is served after %d, in the order %v", leases, i, before, s.Order)
				}
				follows[i][before] = true
				maps.Copy(follows[i], follows[before])
			}
		}
		for i := range all {
			for k := range all {
				asksToo := slices.ContainsFunc(all[i].Asks, func(name string) bool {
					return i != k && slices.Contains(slices.Concat(all[k].Asks, all[k].Gives), name)
				})
				if asksToo && !follows[i][k] && !follows[k][i] {
					t.Fatalf("of %q neither %d nor %d follows the other: %v", leases, i, k, s.After)
				}
				if asksToo && s.Alone[i] {
					t.Fatalf("of %q %d is alone, beside %d", leases, i, k)
				}
			}
		}
	})
}
