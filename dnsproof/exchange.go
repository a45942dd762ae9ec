package dnsproof

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"time"

	"github.com/miekg/dns"
)

// noName are the words for a name that does not exist.
const noName = "no such name (NXDOMAIN)"

// malformed says what is wrong with an answer that can be read.
type malformed string

func (m malformed) Error() string { return string(m) }

// exchange asks one server one question, over TCP where the answer does not fit a packet.
func exchange(ctx context.Context, server, name string, qtype uint16, turn time.Duration) (*dns.Msg, error) {
	ctx, cancel := context.WithTimeout(ctx, turn)
	defer cancel()
	question := new(dns.Msg).SetQuestion(dns.Fqdn(name), qtype)
	reply, err := over(ctx, "udp", server, question)
	if reply != nil && reply.Truncated {
		reply, err = over(ctx, "tcp", server, question)
	}
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, err
	case reply.Truncated:
		return nil, malformed("truncated over TCP too")
	case !answers(reply, question):
		return nil, malformed("it is to another question")
	}
	if why := contradiction(reply, qtype); why != "" {
		return nil, malformed(why)
	}
	return reply, nil
}

// contradiction says why the records of an answer cannot be believed, or is empty. An answer with
// NXDOMAIN may have the CNAMEs that lead to the name that does not exist, but no record of the type that
// was asked for (RFC 2308, 2.1). A CNAME that is asked for is not followed (RFC 1034, 3.6.2).
func contradiction(reply *dns.Msg, qtype uint16) string {
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

// over asks by one protocol; the end of the context ends it at once. A reply may come with an
// error: a truncated one need not be complete.
func over(ctx context.Context, network, server string, question *dns.Msg) (*dns.Msg, error) {
	// The size is that of the buffer: answers longer than 512 bytes are not asked for, but read.
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

// answers is true for a response to the question. A server that refuses need not repeat it.
func answers(reply, question *dns.Msg) bool {
	if !reply.Response || reply.Opcode != dns.OpcodeQuery {
		return false
	}
	if len(reply.Question) == 0 {
		return reply.Rcode != dns.RcodeSuccess && reply.Rcode != dns.RcodeNameError
	}
	got, want := reply.Question[0], question.Question[0]
	return len(reply.Question) == 1 && got.Qtype == want.Qtype && got.Qclass == want.Qclass && same(got.Name, want.Name)
}

// failure says why what came back is no answer, or is empty when it is one: there are records, or
// who knows says that there are none.
func failure(reply *dns.Msg, err error) string {
	switch {
	case err != nil:
		return broken(err)
	case reply.Rcode == dns.RcodeServerFailure:
		return "server failure (SERVFAIL)"
	case reply.Rcode == dns.RcodeRefused:
		return "refused (REFUSED): the server does not answer for this name"
	case reply.Rcode == dns.RcodeNameError:
		return ""
	case reply.Rcode != dns.RcodeSuccess:
		return "error " + rcode(reply.Rcode)
	case len(reply.Answer) == 0 && !reply.Authoritative && (!reply.RecursionAvailable || refers(reply)):
		return "lame server: it is not authoritative for the name, and does not look it up"
	}
	return ""
}

// refers is true where an answer only names other servers.
func refers(reply *dns.Msg) bool {
	servers := false
	for _, rr := range reply.Ns {
		switch rr.(type) {
		case *dns.SOA:
			return false
		case *dns.NS:
			servers = true
		}
	}
	return servers
}

func rcode(code int) string {
	if s, ok := dns.RcodeToString[code]; ok {
		return s
	}
	return fmt.Sprint(code)
}

// broken finds the words for an exchange that failed.
func broken(err error) string {
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
