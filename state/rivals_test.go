package state

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
)

func TestRivals(t *testing.T) {
	ask := func(owner string, things ...string) Request {
		req := Request{Lease: lease.ID{Owner: owner, DSeq: 1, GSeq: 1, OSeq: 1}}
		for _, thing := range things {
			if a, err := netip.ParseAddr(thing); err == nil {
				req.Endpoints = append(req.Endpoints, EndpointWant{Name: "public", SharingKey: owner + "-ip-public", Addresses: []netip.Addr{a}})
				continue
			}
			host, path, _ := strings.Cut(thing, "/")
			req.Hosts = append(req.Hosts, HostWant{Host: host, Path: "/" + path})
		}
		return req
	}
	for name, tt := range map[string]struct {
		requests []Request
		claimed  []string
		want     string
	}{
		"none":                        {[]Request{ask("a", "x.example.com"), ask("b", "y.example.com")}, nil, ""},
		"one host":                    {[]Request{ask("a", "x.example.com"), ask("b", "x.example.com")}, nil, "1 x.example.com a"},
		"paths of one host":           {[]Request{ask("a", "x.example.com/a"), ask("b", "x.example.com/b")}, nil, "1 x.example.com a"},
		"one owner":                   {[]Request{ask("a", "x.example.com"), ask("a", "x.example.com")}, nil, ""},
		"three":                       {[]Request{ask("a", "x.example.com"), ask("b", "x.example.com"), ask("c", "x.example.com")}, nil, "1 x.example.com a, 2 x.example.com a"},
		"the ledger decides":          {[]Request{ask("a", "x.example.com"), ask("b", "x.example.com")}, []string{"x.example.com"}, ""},
		"a wildcard, then below":      {[]Request{ask("a", "*.example.com"), ask("b", "x.example.com")}, nil, "1 x.example.com a"},
		"below, then a wildcard":      {[]Request{ask("a", "x.example.com"), ask("b", "*.example.com")}, nil, "1 wc--any.example.com a"},
		"below of two owners":         {[]Request{ask("b", "x.example.com"), ask("a", "y.example.com"), ask("b", "*.example.com")}, nil, "2 wc--any.example.com a"},
		"own hosts below":             {[]Request{ask("a", "x.example.com"), ask("a", "*.example.com")}, nil, ""},
		"not the apex":                {[]Request{ask("a", "example.com"), ask("b", "*.example.com")}, nil, ""},
		"a wildcard that is claimed":  {[]Request{ask("a", "*.example.com"), ask("b", "x.example.com")}, []string{"wc--any.example.com"}, ""},
		"one address":                 {[]Request{ask("a", "203.0.113.1"), ask("b", "203.0.113.1")}, nil, "1 ip--203-0-113-1 a"},
		"one address, of one owner":   {[]Request{ask("a", "203.0.113.1"), ask("a", "203.0.113.1")}, nil, ""},
		"one address that is claimed": {[]Request{ask("a", "203.0.113.1"), ask("b", "203.0.113.1")}, []string{"ip--203-0-113-1"}, ""},
	} {
		found := Rivals(tt.requests, config.Default(), func(name string) bool { return slices.Contains(tt.claimed, name) })
		var got []string
		for i, by := range found {
			for name, holder := range by {
				got = append(got, fmt.Sprint(i, " ", name, " ", holder.Lease.Owner))
			}
		}
		if got := strings.Join(got, ", "); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}
