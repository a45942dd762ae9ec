package sdl_test

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/input"
	"github.com/akash-net/kubectl-akash-net/lease/resources"
)

// The SDL as a value: what is drawn, written as YAML, and, by Akash's rules as the documents tell them, foretold.
type (
	mSDL struct {
		version  string
		services map[string][]mExpose
		// runs are the services of each placement.
		runs map[string]map[string]mRun
	}
	mExpose struct {
		port, as uint16
		proto    string
		to       []mTo
	}
	mTo struct {
		service, ip string
		global      bool
	}
	mRun struct {
		profile string
		count   uint32
	}
)

var mCPU = map[string]uint64{"small": 100, "big": 2000}

func drawSDL(t *rapid.T) mSDL {
	m := mSDL{version: rapid.SampledFrom([]string{"2.0", "2.1", "3.0"}).Draw(t, "version"), services: map[string][]mExpose{}, runs: map[string]map[string]mRun{}}
	names := []string{"api", "db", "web"}
	for _, name := range names {
		for range rapid.IntRange(0, 3).Draw(t, "exposes") {
			e := mExpose{
				port: rapid.Uint16Range(79, 82).Draw(t, "port"), as: rapid.SampledFrom([]uint16{0, 80, 443}).Draw(t, "as"),
				proto: rapid.SampledFrom([]string{"", "tcp", "TCP", "Udp"}).Draw(t, "proto"),
			}
			for range rapid.IntRange(0, 3).Draw(t, "to") {
				to := mTo{service: rapid.SampledFrom(append([]string{""}, names...)).Draw(t, "peer"), global: rapid.Bool().Draw(t, "global")}
				if to.global {
					to.ip = rapid.SampledFrom([]string{"", "", "pub", "my_ip"}).Draw(t, "ip")
				}
				e.to = append(e.to, to)
			}
			m.services[name] = append(m.services[name], e)
		}
		for _, place := range []string{"west", "dc"} {
			if !rapid.Bool().Draw(t, "deployed") {
				continue
			}
			if m.runs[place] == nil {
				m.runs[place] = map[string]mRun{}
			}
			m.runs[place][name] = mRun{rapid.SampledFrom([]string{"big", "small"}).Draw(t, "profile"), rapid.Uint32Range(1, 3).Draw(t, "count")}
		}
	}
	return m
}

func (m mSDL) yaml() string {
	var b strings.Builder
	fmt.Fprintf(&b, "version: %q\nservices:\n", m.version)
	deployed := map[string]string{}
	for place, runs := range m.runs {
		for name, run := range runs {
			deployed[name] += fmt.Sprintf("%s: {profile: %s, count: %d}, ", place, run.profile, run.count)
		}
	}
	ips := map[string]bool{}
	for _, name := range []string{"web", "db", "api"} {
		fmt.Fprintf(&b, "  %s:\n    image: nginx\n    expose:\n", name)
		for _, e := range m.services[name] {
			fmt.Fprintf(&b, "    - {port: %d, proto: %q, as: %d, to: [", e.port, e.proto, e.as)
			for _, to := range e.to {
				fmt.Fprintf(&b, "{service: %q, global: %t, ip: %q}, ", to.service, to.global, to.ip)
				ips[to.ip] = ips[to.ip] || deployed[name] != ""
			}
			b.WriteString("]}\n")
		}
	}
	b.WriteString("endpoints:\n")
	for ip, used := range ips {
		if used && ip != "" {
			fmt.Fprintf(&b, "  %s: {kind: ip}\n", ip)
		}
	}
	b.WriteString("profiles:\n  placement: {west: {pricing: {}}, dc: {pricing: {}}}\n  compute:\n")
	for name, cpu := range mCPU {
		fmt.Fprintf(&b, "    %s: {resources: {cpu: {units: %dm}, memory: {size: 1Gi}, storage: {size: 1Gi}}}\n", name, cpu)
	}
	b.WriteString("deployment:\n")
	for _, name := range slices.Sorted(maps.Keys(deployed)) {
		fmt.Fprintf(&b, "  %s: {%s}\n", name, deployed[name])
	}
	return b.String()
}

func (e mExpose) protocol() lease.Protocol {
	return lease.Protocol(cmp.Or(strings.ToUpper(e.proto), "TCP"))
}

// numbers are those of the IP endpoints: of all that each "to" of a service that runs names, sorted, with a place for
// each that names none and is not global.
func (m mSDL) numbers() map[string]uint32 {
	var all []string
	for name, exposes := range m.services {
		if !slices.ContainsFunc(slices.Collect(maps.Values(m.runs)), func(r map[string]mRun) bool { return r[name].count > 0 }) {
			continue
		}
		for _, e := range exposes {
			for _, to := range e.to {
				if !to.global || to.ip != "" {
					all = append(all, to.ip)
				}
			}
		}
	}
	slices.Sort(all)
	last := map[string]uint32{}
	for i, ip := range all {
		last[ip] = uint32(i) + 1
	}
	return last
}

// endpoints are those of a service, in the order of its ports in Akash's manifest.
func (m mSDL) endpoints(name string) (out []resources.Endpoint) {
	type port struct {
		mExpose
		mTo
	}
	var ports []port
	for _, e := range m.services[name] {
		for _, to := range e.to {
			ports = append(ports, port{e, to})
		}
	}
	slices.SortStableFunc(ports, func(a, b port) int {
		global := 0
		if a.global != b.global {
			global = map[bool]int{true: -1, false: 1}[a.global]
		}
		return cmp.Or(cmp.Compare(a.service, b.service), cmp.Compare(a.port, b.port), cmp.Compare(a.protocol(), b.protocol()), global)
	})
	for _, p := range ports {
		kind := resources.RandomPort
		if p.protocol() == lease.TCP && cmp.Or(p.as, p.port) == 80 {
			kind = resources.SharedHTTP
		}
		if p.global {
			out = append(out, resources.Endpoint{Kind: kind})
		}
		if p.ip != "" {
			out = append(out, resources.Endpoint{Kind: resources.LeasedIP, Sequence: m.numbers()[p.ip]})
		}
	}
	return out
}

// groups are what the deployment asks for: a unit for each service, or from 2.1 on for each profile of a placement.
func (m mSDL) groups() (groups []resources.Group) {
	for _, place := range slices.Sorted(maps.Keys(m.runs)) {
		group, units := resources.Group{Name: place}, map[string]int{}
		for _, name := range slices.Sorted(maps.Keys(m.runs[place])) {
			run := m.runs[place][name]
			if at, shared := units[run.profile]; shared && m.version != "2.0" {
				unit := &group.Units[at]
				unit.Count += run.count
				unit.Endpoints = append(unit.Endpoints, m.endpoints(name)...)
				slices.SortStableFunc(unit.Endpoints, func(a, b resources.Endpoint) int { return cmp.Compare(a.Sequence, b.Sequence) })
				continue
			}
			units[run.profile] = len(group.Units)
			group.Units = append(group.Units, resources.Unit{Count: run.count, Resources: resources.Resources{
				ID: uint32(len(group.Units)) + 1, CPU: mCPU[run.profile], Memory: 1 << 30, Endpoints: m.endpoints(name),
				Volumes: []resources.Volume{{Name: "default", Size: 1 << 30}},
			}})
		}
		groups = append(groups, group)
	}
	return groups
}

// What an SDL asks for is what Akash's rules say, whatever its order of keys: groups by placement, units by service or
// profile, endpoints and their numbers.
func TestGroupsAreAkashs(t *testing.T) {
	accepted, shared := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		m := drawSDL(t)
		if len(m.runs) == 0 {
			return
		}
		var got []resources.Group
		problems, err := input.Read(t.Context(), strings.NewReader(m.yaml()), "", input.Options{Workloads: true, Unleased: true}, func(def *lease.Definition) error {
			if got = append(got, def.ResourceGroup()); int(def.Lease.GSeq) != len(got) {
				t.Fatalf("the %d. group has the gseq %d", len(got), def.Lease.GSeq)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if problems.Failed() {
			for _, p := range problems.Errors() {
				if !strings.Contains(p.Message, "claimed twice") && !strings.Contains(p.Message, "both would have the Service") &&
					!strings.Contains(p.Message, "no service is exposed globally") {
					t.Fatalf("%s\n%v", m.yaml(), p)
				}
			}
			return
		}
		accepted++
		want := m.groups()
		if diff := gocmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("%s\n(-want +got):\n%s", m.yaml(), diff)
		}
		if m.version != "2.0" && len(want[0].Units) < len(m.runs["dc"]) {
			shared++
		}
	})
	if accepted == 0 || shared == 0 {
		t.Errorf("%d SDLs were accepted, %d share a unit", accepted, shared)
	}
}
