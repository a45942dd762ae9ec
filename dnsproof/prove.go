package dnsproof

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/miekg/dns"

	"github.com/akash-net/kubectl-akash-net/lease"
)

// ChallengeLabel is the label before a host under which its TXT record stands.
const ChallengeLabel = "_akash-challenge"

// maxName is how many characters a name in DNS has at most (RFC 1035, without the last dot).
const maxName = 253

// Prover asks name servers for proofs. It holds no state: any number of hosts may be asked for at a
// time.
type Prover struct {
	// Servers are asked in this order, as HOST:PORT, until one answers.
	Servers []string
	// Domain is the provider's ingress domain; empty where it has none, and then no CNAME proves
	// anything.
	Domain string
	// Timeout bounds all that is asked for one host.
	Timeout time.Duration
}

// Unproved says why a host is not proved to be its owner's.
type Unproved struct {
	Host, Owner string
	// Asked are the questions in their order, with what came back.
	Asked []Exchange
	// Note says why the answers do not suffice, where that is not plain.
	Note string
	// Records are lines of a zone file, each of which proves the host.
	Records []string
}

// Exchange is one question to one name server.
type Exchange struct {
	Server     string
	Type, Name string
	// Answer is what came back, in words.
	Answer string
}

func (e *Unproved) Error() string {
	var parts []string
	for _, x := range e.Asked {
		parts = append(parts, x.String())
	}
	if e.Note != "" {
		parts = append(parts, e.Note)
	}
	return strings.Join(parts, "; ")
}

func (x Exchange) String() string {
	return fmt.Sprintf("%s %s at %s: %s", x.Type, x.Name, x.Server, x.Answer)
}

// Prove tells by which record a host, or a wildcard, is the owner's. Its error is an Unproved, or
// that of the context.
//
// A TXT record of the host's own challenge name that holds the owner's address proves it. So does
// a CNAME of the host into the provider's ingress domain, unless a TXT record names the address of
// somebody else, or it cannot be known whether one does. Hosts in the provider's own domain are proved by
// TXT alone: a CNAME there is the provider's own.
func (p *Prover) Prove(ctx context.Context, owner, host string) (how string, err error) {
	base := strings.TrimPrefix(host, "*.")
	own := p.Domain != "" && within(base, p.Domain)
	bounded, cancel := context.WithTimeout(ctx, p.Timeout)
	defer cancel()
	q := &inquiry{servers: slices.Clone(p.Servers), turn: p.Timeout / time.Duration(rounds*max(len(p.Servers), 1))}
	challenge := ChallengeLabel + "." + base
	missing := &Unproved{Host: host, Owner: owner}
	if len(challenge) <= maxName {
		missing.Records = append(missing.Records, fmt.Sprintf("%s. TXT %q", challenge, owner))
		how, missing.Note = q.byText(bounded, owner, challenge)
	} else {
		missing.Note = challenge + " would be longer than a name in DNS can be"
	}
	if how == "" && p.Domain != "" && !own && !q.decided {
		missing.Records = append(missing.Records, fmt.Sprintf("%s. CNAME %s.", host, p.Domain))
		how = q.byAlias(bounded, host, p.Domain)
	}
	if how != "" {
		return how, nil
	}
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	missing.Asked = q.asked
	return "", missing
}

// byText looks for the TXT record that holds the owner's address. Where it finds another owner's,
// or no server answers, that decides: no CNAME is asked for.
func (q *inquiry) byText(ctx context.Context, owner, challenge string) (how, note string) {
	texts, answered := q.texts(ctx, challenge)
	if slices.Contains(texts, owner) {
		return "TXT " + challenge, ""
	}
	if q.decided = !answered; q.decided {
		return "", "without an answer it is not known whose the host is"
	}
	for _, text := range texts {
		if lease.CheckAddress(text) == nil {
			q.decided = true
			return "", "the TXT record names another owner, and outweighs a CNAME"
		}
	}
	return "", ""
}

// byAlias follows the host's CNAMEs until one leads into the domain.
func (q *inquiry) byAlias(ctx context.Context, host, domain string) (how string) {
	path := q.aliases(ctx, host, func(name string) bool { return within(name, domain) })
	if len(path) == 0 {
		return ""
	}
	return "CNAME " + host + " → " + strings.Join(path, " → ")
}

// within is true for the domain and the names below it, in any case.
func within(name, domain string) bool { return dns.IsSubDomain(dns.Fqdn(domain), dns.Fqdn(name)) }

// same is true for two spellings of one name.
func same(a, b string) bool { return dns.CanonicalName(a) == dns.CanonicalName(b) }

// shown is a name as it is printed.
func shown(name string) string { return strings.TrimSuffix(dns.CanonicalName(name), ".") }
