// Package nameserver is a DNS server on loopback for tests, with zones and faults of their choice.
package nameserver

import (
	"net"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/miekg/dns"
)

// Server answers over UDP and TCP on one port.
type Server struct {
	// Addr is where it listens, as HOST:PORT.
	Addr string

	mu      sync.Mutex
	records []dns.RR
	fault   func(network string, question, reply *dns.Msg) *dns.Msg
	asked   []string
}

// Start serves records, lines of a zone file, as the authority for every name. A name with records
// of another type has no data, a name without any does not exist. It ends with the test.
func Start(t testing.TB, records ...string) *Server {
	t.Helper()
	s := &Server{}
	s.Serve(t, records...)
	packets, stream := listen(t)
	s.Addr = stream.Addr().String()
	for _, d := range []*dns.Server{{PacketConn: packets}, {Listener: stream}} {
		network := "tcp"
		if d.PacketConn != nil {
			network = "udp"
		}
		started := make(chan struct{})
		d.NotifyStartedFunc = func() { close(started) }
		d.Handler = dns.HandlerFunc(func(w dns.ResponseWriter, question *dns.Msg) { s.reply(w, network, question) })
		go func() { _ = d.ActivateAndServe() }() // ends with Shutdown
		<-started
		t.Cleanup(func() { _ = d.Shutdown() })
	}
	return s
}

// listen finds a port that is free for both protocols.
func listen(t testing.TB) (net.PacketConn, net.Listener) {
	t.Helper()
	var last error
	for range 20 {
		stream, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		packets, err := net.ListenPacket("udp", stream.Addr().String())
		if err == nil {
			return packets, stream
		}
		last = err
		_ = stream.Close() // another is tried
	}
	t.Fatal(last)
	return nil, nil
}

// Serve replaces the records.
func (s *Server) Serve(t testing.TB, records ...string) {
	t.Helper()
	var parsed []dns.RR
	for _, text := range records {
		rr, err := dns.NewRR(text)
		if err != nil {
			t.Fatal(err)
		}
		parsed = append(parsed, rr)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.records = parsed
}

// Fault has every reply pass through a function, which may change it; nil is sent as no reply.
// The network is udp or tcp.
func (s *Server) Fault(fault func(network string, question, reply *dns.Msg) *dns.Msg) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = fault
}

// Asked are the questions so far, as NETWORK TYPE NAME.
func (s *Server) Asked() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.asked)
}

func (s *Server) reply(w dns.ResponseWriter, network string, question *dns.Msg) {
	s.mu.Lock()
	q := question.Question[0]
	s.asked = append(s.asked, network+" "+dns.TypeToString[q.Qtype]+" "+strings.ToLower(q.Name))
	reply, fault := s.answer(question), s.fault
	s.mu.Unlock()
	if fault != nil {
		reply = fault(network, question, reply)
	}
	if reply != nil {
		_ = w.WriteMsg(reply) // whoever asked may be gone
	}
}

// answer is the authority's answer, with the CNAMEs that lead to it.
func (s *Server) answer(question *dns.Msg) *dns.Msg {
	reply := new(dns.Msg).SetReply(question)
	reply.Authoritative = true
	q := question.Question[0]
	for name := q.Name; len(reply.Answer) <= len(s.records); {
		exists, next := false, ""
		for _, rr := range s.records {
			if !strings.EqualFold(rr.Header().Name, name) {
				continue
			}
			exists = true
			cname, isAlias := rr.(*dns.CNAME)
			if rr.Header().Rrtype == q.Qtype || isAlias {
				reply.Answer = append(reply.Answer, rr)
			}
			if isAlias && q.Qtype != dns.TypeCNAME {
				next = cname.Target
			}
		}
		if !exists {
			reply.Rcode = dns.RcodeNameError
		}
		if next == "" {
			break
		}
		name = next
	}
	return reply
}
