package dnsproof

import (
	"context"
	"errors"
	"io"
	"net"
	"testing"

	"github.com/miekg/dns"
)

// reply returns a successful reply of a recursive server with records in its answer section.
func reply(t *testing.T, records ...string) *dns.Msg {
	t.Helper()
	m := new(dns.Msg).SetQuestion("a.example.", dns.TypeTXT)
	m.Response, m.RecursionAvailable = true, true
	m.Answer = parseRecords(t, records...)
	return m
}

func parseRecords(t *testing.T, records ...string) []dns.RR {
	t.Helper()
	var out []dns.RR
	for _, text := range records {
		rr, err := dns.NewRR(text)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, rr)
	}
	return out
}

func TestFailure(t *testing.T) {
	const lame = "lame server: it is not authoritative for the name, and does not look it up"
	const ns, soa = "example. NS ns.example.", "example. SOA ns.example. h.example. 1 2 3 4 5"
	for _, c := range []struct {
		name   string
		change func(*dns.Msg)
		err    error
		want   string
	}{
		{name: "a recursive server may have no records", change: func(*dns.Msg) {}},
		{name: "an authoritative server may have no records", change: func(m *dns.Msg) { m.RecursionAvailable, m.Authoritative = false, true }},
		{name: "a missing name is an answer", change: func(m *dns.Msg) { m.Rcode = dns.RcodeNameError }},
		{name: "SOA says that there are no records", change: func(m *dns.Msg) { m.Ns = parseRecords(t, ns, soa) }},
		{name: "a server of other zones has no answer", change: func(m *dns.Msg) { m.RecursionAvailable = false }, want: lame},
		{name: "a referral is no answer", change: func(m *dns.Msg) { m.Ns = parseRecords(t, ns) }, want: lame},
		{name: "SERVFAIL", change: func(m *dns.Msg) { m.Rcode = dns.RcodeServerFailure }, want: "server failure (SERVFAIL)"},
		{
			name: "REFUSED", change: func(m *dns.Msg) { m.Rcode = dns.RcodeRefused },
			want: "refused (REFUSED): the server does not answer for this name",
		},
		{name: "another status has its name", change: func(m *dns.Msg) { m.Rcode = dns.RcodeNotImplemented }, want: "error NOTIMP"},
		{name: "an unknown status has its number", change: func(m *dns.Msg) { m.Rcode = 14 }, want: "error 14"},
		{name: "an invalid reply", err: malformed("it is short"), want: "malformed answer: it is short"},
		{name: "a reply that cannot be parsed", err: dns.ErrRdata, want: "malformed answer: bad rdata"},
		{name: "a closed connection", err: io.ErrUnexpectedEOF, want: "the server closed the connection"},
		{name: "a network error", err: &net.OpError{Op: "dial", Err: errors.New("refused")}, want: "cannot be asked: refused"},
		{name: "any other error", err: errors.New("broken"), want: "cannot be asked: broken"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := reply(t)
			if c.change != nil {
				c.change(m)
			}
			if got := failure(m, c.err); got != c.want {
				t.Errorf("failure is %q, want %q", got, c.want)
			}
		})
	}
}

func TestInconsistency(t *testing.T) {
	for _, c := range []struct {
		name    string
		records []string
		rcode   int
		qtype   uint16
		want    string
	}{
		{"NXDOMAIN may have the CNAME to the missing name", []string{"a. CNAME b."}, dns.RcodeNameError, dns.TypeTXT, ""},
		{
			"NXDOMAIN cannot have the queried CNAME", []string{"a. CNAME b."}, dns.RcodeNameError, dns.TypeCNAME,
			"it says that there is no such name (NXDOMAIN), and has its CNAME record",
		},
		{
			"NXDOMAIN cannot have a TXT record", []string{`a. TXT "x"`}, dns.RcodeNameError, dns.TypeTXT,
			"it says that there is no such name (NXDOMAIN), and has its TXT record",
		},
		{"a record of another class is refused", []string{`a. CH TXT "x"`}, dns.RcodeSuccess, dns.TypeTXT, "it has a record of class CH"},
		{"records of the class IN are consistent", []string{`a. TXT "x"`}, dns.RcodeSuccess, dns.TypeTXT, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := reply(t, c.records...)
			m.Rcode = c.rcode
			if got := inconsistency(m, c.qtype); got != c.want {
				t.Errorf("inconsistency is %q, want %q", got, c.want)
			}
		})
	}
}

func TestIsReplyTo(t *testing.T) {
	question := new(dns.Msg).SetQuestion("a.example.", dns.TypeTXT)
	for _, c := range []struct {
		name   string
		change func(*dns.Msg)
		want   bool
	}{
		{"the same question", func(*dns.Msg) {}, true},
		{"the same name in upper case", func(m *dns.Msg) { m.Question[0].Name = "A.Example." }, true},
		{"another name", func(m *dns.Msg) { m.Question[0].Name = "b.example." }, false},
		{"another type", func(m *dns.Msg) { m.Question[0].Qtype = dns.TypeCNAME }, false},
		{"another class", func(m *dns.Msg) { m.Question[0].Qclass = dns.ClassCHAOS }, false},
		{"two questions", func(m *dns.Msg) { m.Question = append(m.Question, m.Question[0]) }, false},
		{"a query", func(m *dns.Msg) { m.Response = false }, false},
		{"a notification", func(m *dns.Msg) { m.Opcode = dns.OpcodeNotify }, false},
		{"an error without a question", func(m *dns.Msg) { m.Question, m.Rcode = nil, dns.RcodeRefused }, true},
		{"an answer without a question", func(m *dns.Msg) { m.Question = nil }, false},
		{"NXDOMAIN without a question", func(m *dns.Msg) { m.Question, m.Rcode = nil, dns.RcodeNameError }, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := reply(t)
			c.change(m)
			if got := isReplyTo(m, question); got != c.want {
				t.Errorf("isReplyTo is %t", got)
			}
		})
	}
}

func TestIsTimeout(t *testing.T) {
	if !isTimeout(context.DeadlineExceeded) || !isTimeout(context.Canceled) || isTimeout(io.EOF) {
		t.Error("timeouts are not recognised")
	}
}
