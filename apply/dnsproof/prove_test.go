package dnsproof_test

import (
	"context"
	"errors"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"

	"github.com/akash-net/kubectl-akash-net/apply/dnsproof"
	"github.com/akash-net/kubectl-akash-net/test/nameserver"
)

const (
	owner  = "akash1h24fljt7p0nh82cq0za0uhsct3sfwsfu9w3c9h"
	other  = "akash1n44zc8l6gfm0hpydldndpg8n05xjjwmuahc6nn"
	domain = "ingress.provider.com"
	// enough is longer than any answer on loopback takes, short is the wait for an answer that never comes.
	enough = time.Minute
	short  = 40 * time.Millisecond
)

func proverFor(timeout time.Duration, servers ...*nameserver.Server) *dnsproof.Prover {
	p := &dnsproof.Prover{Domain: domain, Timeout: timeout}
	for _, s := range servers {
		p.Servers = append(p.Servers, s.Addr)
	}
	return p
}

// unproved returns the error for a host, and fails the test if the host is proved.
func unproved(t *testing.T, p *dnsproof.Prover, host string) *dnsproof.Unproved {
	t.Helper()
	how, err := p.Prove(t.Context(), owner, host)
	why, ok := errors.AsType[*dnsproof.Unproved](err)
	if !ok {
		t.Fatalf("%s: proved by %q, error %v", host, how, err)
	}
	return why
}

// The error has records in the format of a zone file, and a server with them proves the host.
func TestRecordsThatAreNamedProve(t *testing.T) {
	for _, host := range []string{"shop.example.com", "*.example.com"} {
		server := nameserver.Start(t)
		p := proverFor(enough, server)
		records := unproved(t, p, host).Records
		if len(records) != 2 {
			t.Errorf("%s: records %q, want a TXT and a CNAME", host, records)
		}
		for _, record := range records {
			server.Serve(t, record)
			if _, err := p.Prove(t.Context(), owner, host); err != nil {
				t.Errorf("%s: not proved with %s: %v", host, record, err)
			}
		}
	}
	p := proverFor(enough, nameserver.Start(t))
	p.Domain = ""
	if why := unproved(t, p, "shop.example.com"); len(why.Records) != 1 || len(why.Asked) != 1 {
		t.Errorf("without a domain of the provider's: %q, %q", why.Records, why.Asked)
	}
}

// The failure of a server is recorded; TestFailure and TestInconsistency have the others.
func TestServersThatDoNotAnswer(t *testing.T) {
	code := func(code int) func(string, *dns.Msg, *dns.Msg) *dns.Msg {
		return func(_ string, question, _ *dns.Msg) *dns.Msg { return new(dns.Msg).SetRcode(question, code) }
	}
	for name, c := range map[string]struct {
		fault   func(network string, question, reply *dns.Msg) *dns.Msg
		timeout time.Duration
		want    string
	}{
		"REFUSED": {code(dns.RcodeRefused), enough, "refused (REFUSED): the server does not answer for this name"},
		"another question": {func(_ string, _, reply *dns.Msg) *dns.Msg {
			reply.Question[0].Name = "evil.example.com."
			return reply
		}, enough, "malformed answer: it is to another question"},
		"garbage": {func(_ string, question, reply *dns.Msg) *dns.Msg {
			reply.Answer = []dns.RR{&dns.RFC3597{Hdr: dns.RR_Header{Name: question.Question[0].Name, Rrtype: dns.TypeTXT, Class: dns.ClassINET}, Rdata: "ff61"}}
			return reply
		}, enough, "malformed answer: overflow unpacking txt"},
		"truncated for ever": {func(_ string, _, reply *dns.Msg) *dns.Msg {
			reply.Truncated = true
			return reply
		}, enough, "malformed answer: truncated over TCP too"},
		"silence": {func(string, *dns.Msg, *dns.Msg) *dns.Msg { return nil }, short, "no answer in time"},
	} {
		t.Run(name, func(t *testing.T) {
			bad := nameserver.Start(t)
			bad.Fault(c.fault)
			why := unproved(t, proverFor(c.timeout, bad), "shop.example.com")
			want := []dnsproof.Exchange{{Server: bad.Addr, Type: "TXT", Name: "_akash-challenge.shop.example.com", Answer: c.want}}
			if !slices.Equal(why.Asked, want) {
				t.Errorf("asked %v, want %v", why.Asked, want)
			}
			if why.Note != "without an answer it is not known whose the host is" {
				t.Errorf("note %q", why.Note)
			}
		})
	}
}

// If a server does not answer, the next one decides, and is asked first from then on.
func TestTheNextServerIsAsked(t *testing.T) {
	lame := nameserver.Start(t)
	lame.Fault(func(_ string, question, _ *dns.Msg) *dns.Msg {
		return new(dns.Msg).SetRcode(question, dns.RcodeRefused)
	})
	good := nameserver.Start(t, "shop.example.com. CNAME www.example.com.", "www.example.com. CNAME ingress.provider.com.")
	how, err := proverFor(enough, lame, good).Prove(t.Context(), owner, "shop.example.com")
	if err != nil || how == "" {
		t.Fatalf("proved by %q, %v", how, err)
	}
	if got := lame.Asked(); len(got) != 1 {
		t.Errorf("the server that refused was asked again: %q", got)
	}
	if why := unproved(t, proverFor(enough, lame, good), "blog.example.com"); len(why.Asked) != 3 || why.Asked[0].Server != lame.Addr || why.Asked[2].Server != good.Addr {
		t.Errorf("asked %v", why.Asked)
	}
}

// A lost query is sent again.
func TestALostPacketIsSentAgain(t *testing.T) {
	server := nameserver.Start(t, `_akash-challenge.shop.example.com. TXT "`+owner+`"`)
	lost := make(chan struct{}, 1)
	lost <- struct{}{}
	server.Fault(func(_ string, _, reply *dns.Msg) *dns.Msg {
		select {
		case <-lost:
			return nil
		default:
			return reply
		}
	})
	if _, err := proverFor(2*time.Second, server).Prove(t.Context(), owner, "shop.example.com"); err != nil {
		t.Error(err)
	}
	if got := server.Asked(); len(got) != 2 {
		t.Errorf("asked %q", got)
	}
}

// A reply that does not fit a UDP packet is requested over TCP.
func TestTruncatedAnswersAreFetchedOverTCP(t *testing.T) {
	server := nameserver.Start(t, `_akash-challenge.shop.example.com. TXT "`+owner+`"`)
	server.Fault(func(network string, _, reply *dns.Msg) *dns.Msg {
		if network == "udp" {
			reply.Truncated, reply.Answer = true, nil
		}
		return reply
	})
	if _, err := proverFor(enough, server).Prove(t.Context(), owner, "shop.example.com"); err != nil {
		t.Error(err)
	}
	want := []string{"udp TXT _akash-challenge.shop.example.com.", "tcp TXT _akash-challenge.shop.example.com."}
	if got := server.Asked(); !slices.Equal(got, want) {
		t.Errorf("asked %q, want %q", got, want)
	}
}

// If a resolver returns only one CNAME, its target is queried.
func TestAnswersThatEndAtACNAME(t *testing.T) {
	server := nameserver.Start(t, `_akash-challenge.shop.example.com. CNAME a.example.net.`, `a.example.net. TXT "`+owner+`"`)
	server.Fault(func(_ string, _, reply *dns.Msg) *dns.Msg {
		reply.Answer = reply.Answer[:1]
		return reply
	})
	if _, err := proverFor(enough, server).Prove(t.Context(), owner, "shop.example.com"); err != nil {
		t.Error(err)
	}
	server.Serve(t, `_akash-challenge.shop.example.com. CNAME a.example.net.`, `a.example.net. TXT "`+other+`"`)
	why := unproved(t, proverFor(enough, server), "shop.example.com")
	if len(why.Asked) != 2 || why.Asked[0].Answer != "alias of a.example.net" || why.Asked[1].Answer != `found "`+other+`"` {
		t.Errorf("asked %v", why.Asked)
	}
}

// If no server listens, the message has the error of the system.
func TestNobodyListens(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	_ = l.Close()
	p := &dnsproof.Prover{Servers: []string{addr}, Timeout: enough}
	why := unproved(t, p, "shop.example.com")
	if len(why.Asked) != 1 || !strings.Contains(why.Asked[0].Answer, "refused") {
		t.Errorf("asked %v", why.Asked)
	}
}

// The end of the context ends the wait for an answer, and is not an Unproved error.
func TestAnInterruptEndsTheWait(t *testing.T) {
	silent := nameserver.Start(t)
	ctx, cancel := context.WithCancel(t.Context())
	silent.Fault(func(string, *dns.Msg, *dns.Msg) *dns.Msg {
		cancel()
		return nil
	})
	how, err := proverFor(time.Hour, silent).Prove(ctx, owner, "shop.example.com")
	if how != "" || !errors.Is(err, context.Canceled) {
		t.Errorf("proved by %q, %v", how, err)
	}
}
