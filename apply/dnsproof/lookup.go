package dnsproof

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strconv"
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

// txtRecords returns the TXT records of a name in a reply. It joins the strings of each record (RFC 7208, 3.3) and trims
// white space. The DNS library has escaped unprintable characters.
func txtRecords(reply *dns.Msg, name string) []string {
	var out []string
	for _, rr := range reply.Answer {
		if txt, ok := rr.(*dns.TXT); ok && sameName(txt.Hdr.Name, name) {
			out = append(out, strings.TrimSpace(strings.Join(txt.Txt, "")))
		}
	}
	return out
}

// cnameTarget returns the target of a name's CNAME in a reply, or "".
func cnameTarget(reply *dns.Msg, name string) string {
	for _, rr := range reply.Answer {
		if cname, ok := rr.(*dns.CNAME); ok && sameName(cname.Hdr.Name, name) {
			return displayName(cname.Target)
		}
	}
	return ""
}

// maxAliases is the maximum number of CNAMEs to follow.
const maxAliases = 10

// chain is a name followed by the targets of its CNAMEs.
type chain []string

func (c chain) last() string { return c[len(c)-1] }

// follow appends the targets of the CNAMEs in a reply. It returns why it stopped early, or "".
func (c *chain) follow(reply *dns.Msg) (why string) {
	for {
		next := cnameTarget(reply, c.last())
		switch {
		case next == "":
			return ""
		case slices.Contains(*c, next):
			return "the CNAMEs lead in a circle, back to " + next
		case len(*c) > maxAliases:
			return fmt.Sprintf("the CNAMEs go on; only %d are followed", maxAliases)
		}
		*c = append(*c, next)
	}
}

// describe returns the answer to a query for a name: the CNAME target that it led to, if any, and the detail.
func (c chain) describe(asked, detail string) string {
	switch {
	case c.last() == asked:
		return detail
	case detail == "":
		return "alias of " + c.last()
	}
	return "alias of " + c.last() + ": " + detail
}

// Limits of what describeTXT prints.
const (
	maxPrintedRecords = 3
	maxPrintedBytes   = 64
)

// describeTXT returns a message with the first TXT records in alphabetical order, each shortened to maxPrintedBytes.
func describeTXT(texts []string) string {
	quoted := make([]string, 0, maxPrintedRecords+1)
	for _, text := range slices.Sorted(slices.Values(texts)) {
		if len(quoted) == maxPrintedRecords {
			quoted = append(quoted, fmt.Sprintf("and %d more", len(texts)-maxPrintedRecords))
			break
		}
		if len(text) > maxPrintedBytes {
			text = text[:maxPrintedBytes-1] + "…" // escaped text is ASCII
		}
		quoted = append(quoted, `"`+text+`"`)
	}
	return "found " + strings.Join(quoted, ", ")
}

// sameName reports whether two spellings are the same DNS name.
func sameName(a, b string) bool { return dns.CanonicalName(a) == dns.CanonicalName(b) }

// isWithin reports whether a name is the domain or is below it, ignoring case.
func isWithin(name, domain string) bool { return dns.IsSubDomain(dns.Fqdn(domain), dns.Fqdn(name)) }

// displayName returns a name for messages: in lower case and without the final dot.
func displayName(name string) string { return strings.TrimSuffix(dns.CanonicalName(name), ".") }

// noName describes a name that does not exist.
const noName = "no such name (NXDOMAIN)"

// malformed is the error for a reply that the DNS library can parse but that is invalid.
type malformed string

func (m malformed) Error() string { return string(m) }

// exchange sends one query to one server and validates the reply. It uses TCP if the reply does not fit a UDP packet.
func exchange(ctx context.Context, server, name string, qtype uint16, timeout time.Duration) (*dns.Msg, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	question := new(dns.Msg).SetQuestion(dns.Fqdn(name), qtype)
	reply, err := send(ctx, "udp", server, question)
	if reply != nil && reply.Truncated {
		reply, err = send(ctx, "tcp", server, question)
	}
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, err
	case reply.Truncated:
		return nil, malformed("truncated over TCP too")
	case !isReplyTo(reply, question):
		return nil, malformed("it is to another question")
	}
	if why := inconsistency(reply, qtype); why != "" {
		return nil, malformed(why)
	}
	return reply, nil
}

// inconsistency returns why a reply's records contradict each other or its status, or "". A reply with NXDOMAIN may contain
// the CNAMEs to the missing name, but no record of the queried type (RFC 2308, 2.1); a query for a CNAME does not follow it
// (RFC 1034, 3.6.2).
func inconsistency(reply *dns.Msg, qtype uint16) string {
	for _, rr := range reply.Answer {
		switch h := rr.Header(); {
		case h.Class != dns.ClassINET:
			return "it has a record of class " + dns.Class(h.Class).String()
		case h.Rrtype == qtype && reply.Rcode == dns.RcodeNameError:
			return fmt.Sprintf("it says that there is %s, and has its %s record", noName, dns.TypeToString[qtype])
		}
	}
	return ""
}

// send sends a query over one protocol until the context ends. It may return both a reply and an error, because a truncated
// reply may be incomplete.
func send(ctx context.Context, network, server string, question *dns.Msg) (*dns.Msg, error) {
	// UDPSize is the buffer's: the query has no EDNS option for replies over 512 bytes, but they are accepted.
	client := &dns.Client{Net: network, UDPSize: dns.DefaultMsgSize}
	if deadline, ok := ctx.Deadline(); ok {
		client.Timeout = time.Until(deadline)
	}
	conn, err := client.DialContext(ctx, server)
	if err != nil {
		return nil, err
	}
	defer conn.Close() //nolint:errcheck // all has been read
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	reply, _, err := client.ExchangeWithConnContext(ctx, question, conn)
	return reply, err
}

// isReplyTo reports whether a message is a reply to the query. Only an error may omit the question.
func isReplyTo(reply, question *dns.Msg) bool {
	if !reply.Response || reply.Opcode != dns.OpcodeQuery {
		return false
	}
	if len(reply.Question) == 0 {
		return reply.Rcode != dns.RcodeSuccess && reply.Rcode != dns.RcodeNameError
	}
	got, want := reply.Question[0], question.Question[0]
	return len(reply.Question) == 1 && got.Qtype == want.Qtype && got.Qclass == want.Qclass && sameName(got.Name, want.Name)
}

// failure returns why an exchange has no usable answer, or "". Records are an answer, and so is a statement by an
// authoritative or recursive server that there are none.
func failure(reply *dns.Msg, err error) string {
	switch {
	case err != nil:
		return describeError(err)
	case reply.Rcode == dns.RcodeServerFailure:
		return "server failure (SERVFAIL)"
	case reply.Rcode == dns.RcodeRefused:
		return "refused (REFUSED): the server does not answer for this name"
	case reply.Rcode == dns.RcodeNameError:
		return ""
	case reply.Rcode != dns.RcodeSuccess:
		return "error " + cmp.Or(dns.RcodeToString[reply.Rcode], strconv.Itoa(reply.Rcode))
	case len(reply.Answer) == 0 && !reply.Authoritative && (!reply.RecursionAvailable || isReferral(reply)):
		return "lame server: it is not authoritative for the name, and does not look it up"
	}
	return ""
}

// isReferral reports whether a reply only names other servers: its authority section has NS records and no SOA record
// (RFC 2308, 2.2).
func isReferral(reply *dns.Msg) bool {
	hasNS := false
	for _, rr := range reply.Ns {
		switch rr.(type) {
		case *dns.SOA:
			return false
		case *dns.NS:
			hasNS = true
		}
	}
	return hasNS
}

// describeError returns a message for a failed exchange.
func describeError(err error) string {
	var wire *dns.Error
	var wrong malformed
	var op *net.OpError
	switch {
	case errors.As(err, &wrong):
		return "malformed answer: " + wrong.Error()
	case errors.As(err, &wire):
		return "malformed answer: " + strings.TrimPrefix(wire.Error(), "dns: ")
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return "the server closed the connection"
	case errors.As(err, &op):
		return "cannot be asked: " + op.Err.Error()
	}
	return "cannot be asked: " + err.Error()
}

func isTimeout(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, context.Canceled)
}
