package dnsproof_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"

	"github.com/akash-net/kubectl-akash-net/dnsproof"
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

func TestProved(t *testing.T) {
	const mine = `"` + owner + `"`
	for name, c := range map[string]struct {
		host    string
		records []string
		want    string
	}{
		"TXT":               {"shop.example.com", []string{`_akash-challenge.shop.example.com. TXT ` + mine}, "TXT _akash-challenge.shop.example.com"},
		"TXT in any case":   {"shop.example.com", []string{`_Akash-Challenge.SHOP.example.com. TXT ` + mine}, "TXT _akash-challenge.shop.example.com"},
		"TXT with spaces":   {"shop.example.com", []string{`_akash-challenge.shop.example.com. TXT " ` + owner + ` "`}, "TXT _akash-challenge.shop.example.com"},
		"TXT in pieces":     {"shop.example.com", []string{`_akash-challenge.shop.example.com. TXT "` + owner[:9] + `" "` + owner[9:] + `"`}, "TXT _akash-challenge.shop.example.com"},
		"one TXT of two":    {"shop.example.com", []string{`_akash-challenge.shop.example.com. TXT "` + other + `"`, `_akash-challenge.shop.example.com. TXT ` + mine}, "TXT _akash-challenge.shop.example.com"},
		"TXT behind CNAMEs": {"shop.example.com", []string{`_akash-challenge.shop.example.com. CNAME a.example.net.`, `a.example.net. CNAME b.example.net.`, `b.example.net. TXT ` + mine}, "TXT _akash-challenge.shop.example.com"},
		"wildcard":          {"*.example.com", []string{`_akash-challenge.example.com. TXT ` + mine}, "TXT _akash-challenge.example.com"},
		"apex":              {"example.com", []string{`_akash-challenge.example.com. TXT ` + mine}, "TXT _akash-challenge.example.com"},
		"CNAME":             {"shop.example.com", []string{`shop.example.com. CNAME a1.ingress.provider.com.`}, "CNAME shop.example.com → a1.ingress.provider.com"},
		"CNAME in any case": {"shop.example.com", []string{`SHOP.example.com. CNAME A1.Ingress.Provider.COM.`}, "CNAME shop.example.com → a1.ingress.provider.com"},
		"CNAME to the domain itself": {
			"shop.example.com", []string{`shop.example.com. CNAME ingress.provider.com.`}, "CNAME shop.example.com → ingress.provider.com",
		},
		"CNAME of a wildcard": {"*.example.com", []string{`*.example.com. CNAME ingress.provider.com.`}, "CNAME *.example.com → ingress.provider.com"},
		"CNAME after a TXT that names nobody": {
			"shop.example.com", []string{`_akash-challenge.shop.example.com. TXT "v=spf1 -all"`, `shop.example.com. CNAME ingress.provider.com.`}, "CNAME shop.example.com → ingress.provider.com",
		},
		"chain of CNAMEs": {
			"shop.example.com", []string{`shop.example.com. CNAME www.example.com.`, `www.example.com. CNAME cdn.example.net.`, `cdn.example.net. CNAME a1.ingress.provider.com.`},
			"CNAME shop.example.com → www.example.com → cdn.example.net → a1.ingress.provider.com",
		},
		"TXT below the provider's domain": {"a1.ingress.provider.com", []string{`_akash-challenge.a1.ingress.provider.com. TXT ` + mine}, "TXT _akash-challenge.a1.ingress.provider.com"},
	} {
		t.Run(name, func(t *testing.T) {
			how, err := proverFor(enough, nameserver.Start(t, c.records...)).Prove(t.Context(), owner, c.host)
			if err != nil || how != c.want {
				t.Errorf("proved by %q, %v; want %q", how, err, c.want)
			}
		})
	}
}

// These hosts have records that do not prove them. The error has the answers in order.
func TestUnproved(t *testing.T) {
	long := strings.Repeat("x", 63) + "."
	long = long + long + long + strings.Repeat("y", 41) + ".com" // 237 characters: no room for the challenge's label
	circle := []string{`shop.example.com. CNAME a.example.com.`, `a.example.com. CNAME b.example.com.`, `b.example.com. CNAME shop.example.com.`}
	var ladder []string
	for i := range 12 {
		ladder = append(ladder, fmt.Sprintf("h%d.example.com. CNAME h%d.example.com.", i, i+1))
	}
	ladder = append(ladder, "h12.example.com. CNAME ingress.provider.com.")
	for name, c := range map[string]struct {
		host    string
		records []string
		asked   []string
		note    string
	}{
		"no such name": {"shop.example.com", nil, []string{
			"TXT _akash-challenge.shop.example.com: no such name (NXDOMAIN)", "CNAME shop.example.com: no such name (NXDOMAIN)"}, ""},
		"no such record": {"shop.example.com", []string{`_akash-challenge.shop.example.com. A 192.0.2.1`, `shop.example.com. A 192.0.2.1`}, []string{
			"TXT _akash-challenge.shop.example.com: the name has no TXT record", "CNAME shop.example.com: the name has no CNAME record"}, ""},
		"wrong value": {"shop.example.com", []string{`_akash-challenge.shop.example.com. TXT "hello\007"`}, []string{
			`TXT _akash-challenge.shop.example.com: found "hello\007"`, "CNAME shop.example.com: no such name (NXDOMAIN)"}, ""},
		"long and many values": {"shop.example.com", []string{
			`_akash-challenge.shop.example.com. TXT "` + strings.Repeat("a", 100) + `"`, `_akash-challenge.shop.example.com. TXT "b"`,
			`_akash-challenge.shop.example.com. TXT "c"`, `_akash-challenge.shop.example.com. TXT "d"`, `_akash-challenge.shop.example.com. TXT "e"`,
		}, []string{
			`TXT _akash-challenge.shop.example.com: found "` + strings.Repeat("a", 63) + `…", "b", "c", and 2 more`, "CNAME shop.example.com: no such name (NXDOMAIN)"}, ""},
		"the owner's address in another case": {"shop.example.com", []string{`_akash-challenge.shop.example.com. TXT "` + strings.ToUpper(owner) + `"`}, []string{
			`TXT _akash-challenge.shop.example.com: found "` + strings.ToUpper(owner) + `"`, "CNAME shop.example.com: no such name (NXDOMAIN)"}, ""},
		"another owner's address outweighs a CNAME": {"shop.example.com", []string{`_akash-challenge.shop.example.com. TXT "` + other + `"`, `shop.example.com. CNAME ingress.provider.com.`},
			[]string{`TXT _akash-challenge.shop.example.com: found "` + other + `"`}, "the TXT record names another owner, and outweighs a CNAME"},
		"TXT of the domain above": {"shop.example.com", []string{`_akash-challenge.example.com. TXT "` + owner + `"`}, []string{
			"TXT _akash-challenge.shop.example.com: no such name (NXDOMAIN)", "CNAME shop.example.com: no such name (NXDOMAIN)"}, ""},
		"CNAME to elsewhere": {"shop.example.com", []string{`shop.example.com. CNAME other.provider.com.`, `other.provider.com. A 192.0.2.1`}, []string{
			"TXT _akash-challenge.shop.example.com: no such name (NXDOMAIN)", "CNAME shop.example.com: alias of other.provider.com",
			"CNAME other.provider.com: no CNAME record, and not in the provider's ingress domain"}, ""},
		"CNAME to a name that ends like the domain": {"shop.example.com", []string{`shop.example.com. CNAME xingress.provider.com.`}, []string{
			"TXT _akash-challenge.shop.example.com: no such name (NXDOMAIN)", "CNAME shop.example.com: alias of xingress.provider.com",
			"CNAME xingress.provider.com: no such name (NXDOMAIN)"}, ""},
		"CNAMEs in a circle": {"shop.example.com", circle, []string{
			"TXT _akash-challenge.shop.example.com: no such name (NXDOMAIN)", "CNAME shop.example.com: alias of a.example.com",
			"CNAME a.example.com: alias of b.example.com", "CNAME b.example.com: the CNAMEs lead in a circle, back to shop.example.com"}, ""},
		"challenge in a circle": {"shop.example.com", append([]string{"_akash-challenge.shop.example.com. CNAME a.example.com."}, circle...), []string{
			"TXT _akash-challenge.shop.example.com: alias of shop.example.com: the CNAMEs lead in a circle, back to a.example.com",
			"CNAME shop.example.com: alias of a.example.com", "CNAME a.example.com: alias of b.example.com",
			"CNAME b.example.com: the CNAMEs lead in a circle, back to shop.example.com"}, ""},
		"challenge is an alias of nothing": {"shop.example.com", []string{"_akash-challenge.shop.example.com. CNAME a.example.net."}, []string{
			"TXT _akash-challenge.shop.example.com: alias of a.example.net: no such name (NXDOMAIN)", "CNAME shop.example.com: no such name (NXDOMAIN)"}, ""},
		"too many CNAMEs": {"h0.example.com", ladder, append([]string{"TXT _akash-challenge.h0.example.com: no such name (NXDOMAIN)"}, ladderAsked()...), ""},
		"the name is too long for a challenge": {long, nil, []string{
			"CNAME " + long + ": no such name (NXDOMAIN)"}, "_akash-challenge." + long + " would be longer than a name in DNS can be"},
		"below the provider's domain":            {"a1." + domain, []string{"a1." + domain + ". CNAME " + domain + "."}, []string{"TXT _akash-challenge.a1." + domain + ": no such name (NXDOMAIN)"}, ""},
		"the provider's domain itself":           {domain, []string{domain + ". CNAME a1." + domain + "."}, []string{"TXT _akash-challenge." + domain + ": no such name (NXDOMAIN)"}, ""},
		"a wildcard below the provider's domain": {"*.a1." + domain, nil, []string{"TXT _akash-challenge.a1." + domain + ": no such name (NXDOMAIN)"}, ""},
		"a wildcard of the provider's domain":    {"*." + domain, []string{"*." + domain + ". CNAME a1." + domain + "."}, []string{"TXT _akash-challenge." + domain + ": no such name (NXDOMAIN)"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			server := nameserver.Start(t, c.records...)
			why := unproved(t, proverFor(enough, server), c.host)
			var asked []string
			for _, x := range why.Asked {
				if x.Server != server.Addr {
					t.Errorf("%s was asked, not %s", x.Server, server.Addr)
				}
				asked = append(asked, x.Type+" "+x.Name+": "+x.Answer)
			}
			if !slices.Equal(asked, c.asked) {
				t.Errorf("asked\n  %s\nwant\n  %s", strings.Join(asked, "\n  "), strings.Join(c.asked, "\n  "))
			}
			if why.Note != c.note {
				t.Errorf("note %q, want %q", why.Note, c.note)
			}
		})
	}
}

func ladderAsked() (out []string) {
	for i := range 10 {
		out = append(out, fmt.Sprintf("CNAME h%d.example.com: alias of h%d.example.com", i, i+1))
	}
	return append(out, "CNAME h10.example.com: the CNAMEs go on; only 10 are followed")
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

// The failure of a server is recorded, and the next server decides.
func TestServersThatDoNotAnswer(t *testing.T) {
	code := func(code int) func(string, *dns.Msg, *dns.Msg) *dns.Msg {
		return func(_ string, question, _ *dns.Msg) *dns.Msg { return new(dns.Msg).SetRcode(question, code) }
	}
	for name, c := range map[string]struct {
		fault   func(network string, question, reply *dns.Msg) *dns.Msg
		timeout time.Duration
		want    string
	}{
		"REFUSED":  {code(dns.RcodeRefused), enough, "refused (REFUSED): the server does not answer for this name"},
		"SERVFAIL": {code(dns.RcodeServerFailure), enough, "server failure (SERVFAIL)"},
		"NOTIMP":   {code(dns.RcodeNotImplemented), enough, "error NOTIMP"},
		"no authority": {func(_ string, _, reply *dns.Msg) *dns.Msg {
			reply.Authoritative, reply.Answer, reply.Rcode = false, nil, dns.RcodeSuccess
			return reply
		}, enough, "lame server: it is not authoritative for the name, and does not look it up"},
		"referral": {func(_ string, _, reply *dns.Msg) *dns.Msg {
			reply.Authoritative, reply.RecursionAvailable, reply.Answer, reply.Rcode = false, true, nil, dns.RcodeSuccess
			ns, _ := dns.NewRR("com. NS a.gtld-servers.net.")
			reply.Ns = []dns.RR{ns}
			return reply
		}, enough, "lame server: it is not authoritative for the name, and does not look it up"},
		"another question": {func(_ string, _, reply *dns.Msg) *dns.Msg {
			reply.Question[0].Name = "evil.example.com."
			return reply
		}, enough, "malformed answer: it is to another question"},
		"no response": {func(_ string, question, _ *dns.Msg) *dns.Msg { return question }, enough, "malformed answer: it is to another question"},
		"garbage": {func(_ string, question, reply *dns.Msg) *dns.Msg {
			reply.Answer = []dns.RR{&dns.RFC3597{Hdr: dns.RR_Header{Name: question.Question[0].Name, Rrtype: dns.TypeTXT, Class: dns.ClassINET}, Rdata: "ff61"}}
			return reply
		}, enough, "malformed answer: overflow unpacking txt"},
		"NXDOMAIN with the TXT record": {func(_ string, question, reply *dns.Msg) *dns.Msg {
			reply.Rcode, reply.Answer = dns.RcodeNameError, []dns.RR{textOf(question, dns.ClassINET)}
			return reply
		}, enough, "malformed answer: it says that there is no such name (NXDOMAIN), and has its TXT record"},
		"the TXT record in class CHAOS": {func(_ string, question, reply *dns.Msg) *dns.Msg {
			reply.Rcode, reply.Answer = dns.RcodeSuccess, []dns.RR{textOf(question, dns.ClassCHAOS)}
			return reply
		}, enough, "malformed answer: it has a record of class CH"},
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

// textOf returns the TXT record that proves a host.
func textOf(question *dns.Msg, class uint16) dns.RR {
	return &dns.TXT{Hdr: dns.RR_Header{Name: question.Question[0].Name, Rrtype: dns.TypeTXT, Class: class}, Txt: []string{owner}}
}

// A CNAME in a reply with NXDOMAIN for its name proves nothing, and neither does one of another class than IN.
func TestCNAMEsThatProveNothing(t *testing.T) {
	for name, c := range map[string]struct {
		rcode int
		class uint16
		want  string
	}{
		"NXDOMAIN": {dns.RcodeNameError, dns.ClassINET, "malformed answer: it says that there is no such name (NXDOMAIN), and has its CNAME record"},
		"CHAOS":    {dns.RcodeSuccess, dns.ClassCHAOS, "malformed answer: it has a record of class CH"},
	} {
		server := nameserver.Start(t)
		server.Fault(func(_ string, question, reply *dns.Msg) *dns.Msg {
			if q := question.Question[0]; q.Qtype == dns.TypeCNAME {
				reply.Rcode = c.rcode
				reply.Answer = []dns.RR{&dns.CNAME{Hdr: dns.RR_Header{Name: q.Name, Rrtype: q.Qtype, Class: c.class}, Target: dns.Fqdn(domain)}}
			}
			return reply
		})
		why := unproved(t, proverFor(enough, server), "shop.example.com")
		if got := why.Asked[len(why.Asked)-1].Answer; got != c.want {
			t.Errorf("%s: answer %q, want %q", name, got, c.want)
		}
	}
}

// NXDOMAIN for the target of a CNAME is consistent.
func TestAliasOfNothingIsAnAnswer(t *testing.T) {
	server := nameserver.Start(t, `_akash-challenge.shop.example.com. CNAME gone.example.net.`, `shop.example.com. CNAME `+domain+`.`)
	if _, err := proverFor(enough, server).Prove(t.Context(), owner, "shop.example.com"); err != nil {
		t.Error(err)
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
