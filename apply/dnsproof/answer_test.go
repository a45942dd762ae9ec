package dnsproof

import (
	"slices"
	"testing"
	"unicode"

	"github.com/miekg/dns"
)

// Any reply is processed in bounded time, no CNAME is followed twice, and no message contains control characters.
func FuzzAnswer(f *testing.F) {
	for _, records := range [][]string{
		nil,
		{`a. TXT "akash1x" "y"`},
		{`a. TXT "\027[2J"`, `a. TXT ""`},
		{`a. CNAME b.`, `b. CNAME c\027.`, `c\027. TXT "x"`},
		{`a. CNAME b.`, `b. CNAME a.`},
		{`a. CNAME .`},
	} {
		reply := new(dns.Msg).SetQuestion("a.", dns.TypeTXT)
		reply.Response = true
		for _, text := range records {
			rr, err := dns.NewRR(text)
			if err != nil {
				f.Fatal(err)
			}
			reply.Answer = append(reply.Answer, rr)
		}
		wire, err := reply.Pack()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(wire)
	}
	f.Fuzz(func(t *testing.T, wire []byte) {
		reply := new(dns.Msg)
		err := reply.Unpack(wire)
		why := failure(reply, err)
		printable(t, why)
		if err != nil || why != "" {
			return
		}
		c := chain{"a"}
		printable(t, c.describe("a", c.follow(reply)))
		if len(c) > maxAliases+1 {
			t.Errorf("%d names were followed", len(c))
		}
		for i, name := range c {
			if slices.Contains(c[:i], name) {
				t.Errorf("%s stands twice in %q", name, c)
			}
		}
		printable(t, describeTXT(txtRecords(reply, c.last())))
	})
}

func printable(t *testing.T, text string) {
	t.Helper()
	for _, r := range text {
		if !unicode.IsPrint(r) {
			t.Errorf("%q would be printed", text)
		}
	}
}
