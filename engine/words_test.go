package engine_test

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/akash-net/kubectl-akash-net/engine"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/state"
)

// want parses a lease and what it wants: OWNER/DSEQ HOST... [address] [prune] [expires], or OWNER/DSEQ release [HOST...].
func (l *ledger) want(words []string) engine.Want {
	id := leaseOf(words[0])
	want := engine.Want{Request: state.Request{Lease: id}}
	if words = words[1:]; len(words) > 0 && words[0] == "release" {
		want.Release = &engine.Release{Choice: engine.NewChoice(words[1:])}
		return want
	}
	for _, word := range words {
		host, path, _ := strings.Cut(word, "/")
		switch word {
		case "address":
			want.Request.Endpoints = append(want.Request.Endpoints, state.EndpointWant{
				Name: "public", SharingKey: lease.SharingKey(id.Owner, "public"), Families: []config.Family{config.FamilyOf(netip.MustParseAddr("10.0.0.1"))},
				Ports: []state.PortWant{{Protocol: lease.TCP, ExternalPort: uint16(1000 + id.DSeq), Service: "web", Port: 80}},
			})
		case "prune":
			want.Prune = true
		case "expires":
			want.Expires = l.now.Add(time.Minute).Format(time.RFC3339)
		default:
			want.Request.Hosts = append(want.Request.Hosts, state.HostWant{Host: host, Path: "/" + path, Service: "web", Port: 80})
		}
	}
	slices.SortFunc(want.Request.Hosts, func(a, b state.HostWant) int { return strings.Compare(a.Host+a.Path, b.Host+b.Path) })
	return want
}

// leaseOf parses OWNER/DSEQ, or OWNER/DSEQ/OSEQ.
func leaseOf(text string) lease.ID {
	words := strings.Split(text+"/1", "/")
	n, err := strconv.ParseUint(words[1], 10, 64)
	if err != nil {
		panic(err)
	}
	order, err := strconv.ParseUint(words[2], 10, 32)
	if err != nil {
		panic(err)
	}
	return lease.ID{Owner: words[0], DSeq: n, GSeq: 1, OSeq: uint32(order), Provider: "provider"}
}
