package dnsproof

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/miekg/dns"

	"github.com/akash-net/kubectl-akash-net/lease"
)

// rounds is how often to send a query to a server that does not answer, because packets get lost.
const rounds = 2

// lookup is the search for the proof of one host.
type lookup struct {
	// servers are in the order of asking. A server that answers moves to the front.
	servers []string
	// timeout limits one query to one server.
	timeout time.Duration
	asked   []Exchange
	// decided is true if a CNAME cannot prove the host any more.
	decided bool
}

// byTXT looks for a TXT record with the owner's address. It sets decided if a record names another owner or no server
// answers. note explains why the answers do not suffice.
func (l *lookup) byTXT(ctx context.Context, owner, challenge string) (how, note string) {
	texts, answered := l.txtRecords(ctx, challenge)
	if slices.Contains(texts, owner) {
		return "TXT " + challenge, ""
	}
	if !answered {
		l.decided = true
		return "", "without an answer it is not known whose the host is"
	}
	if slices.ContainsFunc(texts, func(text string) bool { return lease.CheckAddress(text) == nil }) {
		l.decided = true
		return "", "the TXT record names another owner, and outweighs a CNAME"
	}
	return "", ""
}

// byCNAME follows the host's CNAMEs until one points into the domain.
func (l *lookup) byCNAME(ctx context.Context, host, domain string) (how string) {
	path := l.cnamesInto(ctx, host, domain)
	if len(path) == 0 {
		return ""
	}
	return "CNAME " + host + " → " + strings.Join(path, " → ")
}

// txtRecords returns the TXT records of a name, or of the name that its CNAMEs lead to. answered is false if every server
// failed.
func (l *lookup) txtRecords(ctx context.Context, name string) (texts []string, answered bool) {
	answered = l.follow(ctx, name, dns.TypeTXT, func(c chain, asked string, reply *dns.Msg) (detail string, done bool) {
		texts = txtRecords(reply, c.last())
		switch {
		case len(texts) > 0:
			return describeTXT(texts), false
		case c.last() == asked:
			return "the name has no TXT record", false
		}
		return "", false
	})
	return texts, answered
}

// cnamesInto returns the targets of the host's CNAMEs up to the first one in the domain, or nil if none is in it.
func (l *lookup) cnamesInto(ctx context.Context, host, domain string) (path []string) {
	l.follow(ctx, host, dns.TypeCNAME, func(c chain, asked string, _ *dns.Msg) (detail string, done bool) {
		if i := slices.IndexFunc(c[1:], func(name string) bool { return isWithin(name, domain) }); i >= 0 {
			path = c[1 : i+2]
			return "", true
		}
		switch {
		case c.last() != asked:
			return "", false
		case len(c) == 1:
			return "the name has no CNAME record", false
		}
		return "no CNAME record, and not in the provider's ingress domain", false
	})
	return path
}

// follow queries a name, and then the targets of its CNAMEs, until the answer is final. check returns the detail of a final
// answer, or done to stop without recording the exchange. follow returns false if every server failed.
func (l *lookup) follow(
	ctx context.Context, name string, qtype uint16, check func(c chain, asked string, reply *dns.Msg) (detail string, done bool),
) bool {
	c := chain{displayName(name)}
	for {
		asked := c.last()
		reply, server, ok := l.query(ctx, asked, qtype)
		if !ok {
			return false
		}
		end := c.follow(reply)
		detail, done := check(c, asked, reply)
		switch {
		case done:
			return true
		case end != "":
			detail = end
		case reply.Rcode == dns.RcodeNameError:
			detail = noName
		}
		l.record(server, qtype, asked, c.describe(asked, detail))
		if detail != "" {
			return true
		}
	}
}

// query sends a query to the servers in turn until one answers, and a second time to those that timed out. It records the
// failures.
func (l *lookup) query(ctx context.Context, name string, qtype uint16) (reply *dns.Msg, server string, ok bool) {
	servers := slices.Clone(l.servers)
	timedOut := servers
	for range rounds {
		servers, timedOut = timedOut, nil
		for _, server := range servers {
			if ctx.Err() != nil {
				timedOut = append(timedOut, server)
				continue
			}
			reply, err := exchange(ctx, server, name, qtype, l.timeout)
			switch why := failure(reply, err); {
			case why == "":
				l.moveToFront(server)
				return reply, server, true
			case isTimeout(err):
				timedOut = append(timedOut, server)
			default:
				l.record(server, qtype, name, why)
			}
		}
	}
	for _, server := range timedOut {
		l.record(server, qtype, name, "no answer in time")
	}
	return nil, "", false
}

func (l *lookup) moveToFront(server string) {
	i := slices.Index(l.servers, server)
	l.servers = slices.Insert(slices.Delete(l.servers, i, i+1), 0, server)
}

// record adds a query and its outcome to asked.
func (l *lookup) record(server string, qtype uint16, name, answer string) {
	l.asked = append(l.asked, Exchange{Server: server, Type: dns.TypeToString[qtype], Name: displayName(name), Answer: answer})
}
