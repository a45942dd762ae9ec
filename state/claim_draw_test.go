package state_test

import (
	"net/netip"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/akash-net/kubectl-akash-net/lease"
	. "github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/statetest"
)

var (
	drawOwner = rapid.StringMatching(`akash1[0-9a-z]{1,57}`)
	drawLabel = rapid.OneOf(rapid.StringMatching(`[a-z0-9]([a-z0-9-]{0,8}[a-z0-9])?`),
		rapid.SampledFrom([]string{"wc--any", "ip--203-0-113-7", "ep--0", "pt--0", "xn--bcher-kva"}))
	drawAddr = rapid.Custom(func(t *rapid.T) netip.Addr {
		if rapid.Bool().Draw(t, "v4") {
			return netip.AddrFrom4([4]byte(rapid.SliceOfN(rapid.Byte(), 4, 4).Draw(t, "bytes")))
		}
		bytes := rapid.SliceOfN(rapid.OneOf(rapid.Byte(), rapid.Just(byte(0))), 16, 16).Draw(t, "bytes")
		return netip.AddrFrom16([16]byte(bytes))
	})
	drawHost = rapid.Custom(func(t *rapid.T) string {
		labels := rapid.SliceOfN(drawLabel, 1, 4).Draw(t, "labels")
		if rapid.Bool().Draw(t, "wildcard") {
			labels = append([]string{"*"}, labels...)
		}
		return strings.Join(labels, ".")
	})
)

func drawLease(t *rapid.T, owner string) lease.ID {
	number := rapid.Uint32Range(1, 1<<32-1)
	return lease.ID{
		Owner: owner, DSeq: rapid.Uint64Min(1).Draw(t, "dseq"), GSeq: number.Draw(t, "gseq"), OSeq: number.Draw(t, "oseq"), Provider: drawOwner.Draw(t, "provider"),
	}
}

// drawClaim draws any claim that a run could have written.
func drawClaim(t *rapid.T) *Claim {
	c := &Claim{Owner: drawOwner.Draw(t, "owner"), UID: types.UID(rapid.String().Draw(t, "uid")), ResourceVersion: rapid.StringMatching(`\d+`).Draw(t, "version"),
		Created: statetest.Minute(1), Updated: statetest.Minute(2)}
	switch c.Kind = rapid.SampledFrom([]Kind{Address, Endpoint, Host, Wildcard}).Draw(t, "kind"); c.Kind {
	case Address:
		c.Thing = drawAddr.Draw(t, "address").String()
		c.SharingKey = lease.SharingKey(c.Owner, rapid.String().Draw(t, "endpoint"))
	case Endpoint:
		c.SharingKey = lease.SharingKey(c.Owner, rapid.String().Draw(t, "endpoint"))
		c.Thing = c.SharingKey
	case Host, Wildcard:
		c.Thing = drawHost.Filter(func(h string) bool {
			return strings.HasPrefix(h, "*.") == (c.Kind == Wildcard) && lease.CheckRoute(h, "/") == nil
		}).Draw(t, "host")
	}
	seen := map[string]bool{}
	for range rapid.IntRange(1, 5).Draw(t, "parts") {
		p := drawPart(t, c)
		if rapid.Bool().Draw(t, "waits") {
			if p = p.Wait(rapid.String().Draw(t, "definition"), drawHTTP(t)); !seen[p.Key] {
				c.Waits = append(c.Waits, p)
			}
		} else if !seen[p.Key] {
			c.Parts = append(c.Parts, p)
		}
		seen[p.Key] = true
	}
	return c
}

func drawPart(t *rapid.T, c *Claim) Part {
	p := Part{Lease: drawLease(t, c.Owner), Service: rapid.String().Draw(t, "service"), Port: rapid.Uint16().Draw(t, "port"),
		Run: rapid.String().Draw(t, "run"), From: rapid.String().Draw(t, "from"), Applied: rapid.Bool().Draw(t, "applied")}
	if rapid.Bool().Draw(t, "ends") {
		p.Expires = statetest.Minute(rapid.IntRange(-9, 9).Draw(t, "minute")).Format(time.RFC3339)
	}
	switch {
	case !c.Kind.HasPorts():
		p.Path = "/" + rapid.String().Draw(t, "path")
		p.Key, p.Bound = RouteKey(p.Path), c.Kind == Wildcard && rapid.Bool().Draw(t, "bound")
	case rapid.Bool().Draw(t, "whole"):
		p.Key = WholeAddress
	default:
		p.Key = PortKey(rapid.SampledFrom([]lease.Protocol{lease.TCP, lease.UDP}).Draw(t, "protocol"), rapid.Uint16Min(1).Draw(t, "external"))
	}
	return p
}

func drawHTTP(t *rapid.T) *lease.HTTPOptions {
	if rapid.Bool().Draw(t, "plain") {
		return nil
	}
	return &lease.HTTPOptions{MaxBodySize: rapid.Uint32().Draw(t, "body"), NextCases: rapid.SliceOfN(rapid.String(), 1, 2).Draw(t, "cases")}
}
