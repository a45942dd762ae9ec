package state

import (
	"fmt"
	"slices"
	"strings"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
)

// AutoAddress asks for the next free address of each configured family.
const AutoAddress = "auto"

// NamedRequest returns the request for things that are named one by one: hosts (HOST, HOST/PATH or *.DOMAIN,
// case-insensitive) and addresses for an IP endpoint.
func NamedRequest(id lease.ID, hosts, addresses []string, endpoint string, cfg *config.ProviderConfig) (Request, lease.Problems) {
	var problems lease.Problems
	req := Request{Lease: id}
	for _, text := range hosts {
		w, err := ParseHostWant(text, cfg)
		if err != nil {
			problems.Add(lease.Place{}, "%v", err)
			continue
		}
		if slices.ContainsFunc(req.Hosts, func(v HostWant) bool { return w.compare(v) == 0 }) {
			problems.Add(lease.Place{}, "%s is named twice", text)
		}
		req.Hosts = append(req.Hosts, w)
	}
	if len(addresses) > 0 {
		want := EndpointWant{Name: endpoint, SharingKey: lease.SharingKey(id.Owner, endpoint)}
		if err := lease.CheckEndpointName(endpoint); err != nil {
			problems.Add(lease.Place{Path: "--endpoint"}, "%v", err)
		}
		for _, text := range addresses {
			problems = append(problems, want.addAddress(text, cfg)...)
		}
		if len(want.Addresses) > 0 && len(want.Families) > 0 {
			problems.Add(lease.Place{Path: "--address"}, "%s stands for an address of each family: name addresses, or %s alone",
				AutoAddress, AutoAddress)
		}
		req.Endpoints = []EndpointWant{want}
	}
	slices.SortFunc(req.Hosts, HostWant.compare)
	return req, append(problems, req.checkParts()...)
}

// addAddress adds an address that the command line names.
func (w *EndpointWant) addAddress(text string, cfg *config.ProviderConfig) (problems lease.Problems) {
	at := lease.Place{Path: "--address"}
	switch {
	case cfg.IP.Mode == config.ModePool:
		problems.Add(at, "in pool mode MetalLB chooses the addresses: there is none to reserve")
		return problems
	case text == AutoAddress:
		w.Families = cfg.IP.Families
		checkHasRanges(&problems, at, cfg)
		return problems
	}
	a, err := config.ParseAddr(text)
	if err != nil {
		problems.Add(at, "%v", err)
		return problems
	}
	checkInRanges(&problems, at, a, cfg)
	for _, other := range w.Addresses {
		if other == a || config.FamilyOf(other) == config.FamilyOf(a) {
			problems.Add(at, "%s: an IP endpoint has one address of each family", a)
		}
	}
	w.Addresses = append(w.Addresses, a)
	return problems
}

// ParseHostWant parses HOST, HOST/PATH or *.DOMAIN and checks it against the rules of definitions and the provider's
// configuration.
func ParseHostWant(text string, cfg *config.ProviderConfig) (HostWant, error) {
	host, path, hasPath := strings.Cut(text, "/")
	host = strings.ToLower(host)
	w := HostWant{Host: host, Path: "/"}
	if hasPath {
		w.Path = "/" + path
	}
	if err := lease.CheckRoute(host, w.Path); err != nil {
		return w, err
	}
	if why := Refuse(host, config.Backend{}, cfg); why != "" {
		return w, fmt.Errorf("%s %s", host, why)
	}
	return w, nil
}
