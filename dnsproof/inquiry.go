package dnsproof

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/miekg/dns"
)

// rounds is how often a server is asked that does not answer: packets get lost.
const rounds = 2

// inquiry is all that is asked for one host.
type inquiry struct {
	// servers are in the order in which they are asked; one that has answered comes first.
	servers []string
	// turn is how long one server may take for one answer.
	turn time.Duration
	// asked is what was asked so far.
	asked []Exchange
	// decided is true where no further record can prove the host.
	decided bool
}

// texts are the TXT records of a name, each record's strings joined; CNAMEs are followed. answered
// is false if every server failed.
func (q *inquiry) texts(ctx context.Context, name string) (texts []string, answered bool) {
	c := chain{shown(name)}
	for {
		asked := c.end()
		reply, server, ok := q.ask(ctx, asked, dns.TypeTXT)
		if !ok {
			return nil, false
		}
		why := c.follow(reply)
		texts := textsOf(reply, c.end())
		switch {
		case why != "":
		case len(texts) > 0:
			why = found(texts)
		case reply.Rcode == dns.RcodeNameError:
			why = noName
		case c.end() == asked:
			why = "the name has no TXT record"
		}
		q.note(server, dns.TypeTXT, asked, c.words(asked, why))
		if why != "" {
			return texts, true
		}
	}
}

// aliases are the names to which the host's CNAMEs lead, up to the first that will do; none where
// none does.
func (q *inquiry) aliases(ctx context.Context, host string, will func(string) bool) []string {
	c := chain{shown(host)}
	for {
		asked := c.end()
		reply, server, ok := q.ask(ctx, asked, dns.TypeCNAME)
		if !ok {
			return nil
		}
		why := c.follow(reply)
		if i := slices.IndexFunc(c[1:], will); i >= 0 {
			return c[1 : i+2]
		}
		switch {
		case why != "":
		case reply.Rcode == dns.RcodeNameError:
			why = noName
		case c.end() == asked && len(c) == 1:
			why = "the name has no CNAME record"
		case c.end() == asked:
			why = "no CNAME record, and not in the provider's ingress domain"
		}
		q.note(server, dns.TypeCNAME, asked, c.words(asked, why))
		if why != "" {
			return nil
		}
	}
}

// ask puts a question to the servers in turn, and again to those that were silent. What servers
// gave instead of an answer is noted.
func (q *inquiry) ask(ctx context.Context, name string, qtype uint16) (reply *dns.Msg, server string, ok bool) {
	servers := slices.Clone(q.servers)
	silent := servers
	for range rounds {
		servers, silent = silent, nil
		for _, server := range servers {
			if ctx.Err() != nil {
				silent = append(silent, server)
				continue
			}
			reply, err := exchange(ctx, server, name, qtype, q.turn)
			switch why := failure(reply, err); {
			case why == "":
				q.prefer(server)
				return reply, server, true
			case isTimeout(err):
				silent = append(silent, server)
			default:
				q.note(server, qtype, name, why)
			}
		}
	}
	for _, server := range silent {
		q.note(server, qtype, name, "no answer in time")
	}
	return nil, "", false
}

// prefer has a server asked first from now on.
func (q *inquiry) prefer(server string) {
	i := slices.Index(q.servers, server)
	q.servers = slices.Insert(slices.Delete(q.servers, i, i+1), 0, server)
}

func (q *inquiry) note(server string, qtype uint16, name, answer string) {
	q.asked = append(q.asked, Exchange{Server: server, Type: dns.TypeToString[qtype], Name: shown(name), Answer: answer})
}

// maxAliases is how many CNAMEs are followed.
const maxAliases = 10

// chain is a name and the names of which it is an alias, one after the other.
type chain []string

func (c chain) end() string { return c[len(c)-1] }

// follow goes along the CNAMEs of an answer. It says why it cannot go on, if it cannot.
func (c *chain) follow(reply *dns.Msg) (why string) {
	for {
		next := aliasOf(reply, c.end())
		if next == "" {
			return ""
		}
		if slices.Contains(*c, next) {
			return "the CNAMEs lead in a circle, back to " + next
		}
		if len(*c) > maxAliases {
			return fmt.Sprintf("the CNAMEs go on; only %d are followed", maxAliases)
		}
		*c = append(*c, next)
	}
}

// words tell what an answer says of a name: of what it is an alias, and what else there is to say.
func (c chain) words(asked, why string) string {
	switch {
	case c.end() == asked:
		return why
	case why == "":
		return "alias of " + c.end()
	}
	return "alias of " + c.end() + ": " + why
}
