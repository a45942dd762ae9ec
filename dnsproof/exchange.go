package dnsproof

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/miekg/dns"
)

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
