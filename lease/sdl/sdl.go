// Package sdl reads Akash's formats: the SDL (versions 2.0 and 2.1), the manifest that is sent to a provider, and the
// Manifest object that a provider stores. It accepts what Akash's own parser (chain-sdk: go/sdl, go/manifest) accepts,
// except for the deliberate differences that the documentation of the inputs lists.
package sdl

import (
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/document"
	"github.com/akash-net/kubectl-akash-net/lease/lazy"
	"github.com/akash-net/kubectl-akash-net/lease/suggest"
)

var topKeys = []string{"version", "include", "services", "profiles", "deployment", "endpoints", "reclamation"}

// topRepeats and gpuRepeats are the keys that Akash reads again where they are given more than once: maps are joined, and the
// last value of what is not a map counts.
var (
	topRepeats = document.Repeats{
		"version": document.FirstCounts, "include": 0, "services": 1, "profiles": 2, "deployment": 1, "endpoints": 1, "reclamation": 0,
	}
	gpuRepeats          = document.Repeats{"units": 0, "attributes": 0}
	gpuAttributeRepeats = document.Repeats{"vendor": 1}
)

// reader has the parts of one SDL.
type reader struct {
	root      document.Cursor
	services  map[string]*service
	computes  map[string]*compute
	places    map[string]bool
	endpoints map[string]*endpoint
	// groups maps each placement that the deployment names to its services.
	groups map[string][]string
	// placements has the profile and count per placement and service.
	placements map[[2]string]placement
	// exposes and hosts count what the "to" of the exposed ports make.
	exposes, hosts int
	// workloads makes the reader return what the services run. shared is true if services with the same compute profile
	// share a resource unit (SDL 2.1).
	workloads, shared bool
}

// placement is the number of replicas of a service in a placement, and their compute profile.
type placement struct {
	profile string
	count   uint32
}

// endpoint is a declared IP endpoint.
type endpoint struct {
	lease.IPEndpoint
	used bool
}

// Read reads an SDL and returns the definition of the group with the lease's gseq, or nil if there is none. It
// validates all groups, as Akash does, and adds problems to the document. workloads makes it read and validate what the
// services run.
func Read(c document.Cursor, id lease.ID, workloads bool) *lease.Definition {
	defs := ReadAll(c, id, workloads)
	if len(defs) == 0 || int64(id.GSeq) > int64(len(defs)) {
		if len(defs) > 0 {
			c.AnyMapping().Get("deployment").Errorf("there is no group with gseq %d; the SDL has %d", id.GSeq, len(defs))
		}
		return nil
	}
	return defs[id.GSeq-1]
}

// ReadAll is Read, but returns all groups, each with its own gseq in the lease.
func ReadAll(c document.Cursor, id lease.ID, workloads bool) []*lease.Definition {
	r := &reader{
		root: c, services: map[string]*service{}, computes: map[string]*compute{}, places: map[string]bool{},
		endpoints: map[string]*endpoint{}, groups: map[string][]string{}, placements: map[[2]string]placement{}, workloads: workloads,
	}
	top := c.RepeatingMapping(topKeys, topRepeats)
	r.shared = !checkVersion(c, top.Get("version"))
	r.readEndpoints(top.Get("endpoints"))
	r.readProfiles(top.Get("profiles"))
	for _, v := range top.Get("services").AnyMapping().Entries() {
		r.services[v.Key()] = &service{at: v.At(), cursor: v}
	}
	deployment := top.Get("deployment")
	r.readDeployment(deployment)
	r.readServices()
	for _, name := range slices.Sorted(maps.Keys(r.endpoints)) {
		r.checkEndpoint(name)
	}
	if n := r.portsOfGroups(); len(r.groups) > 1 && n > maxPorts {
		deployment.Errorf("the groups have %d ports in all; of more than one group %d are read", n, maxPorts)
		return nil
	}
	defs := r.definitions(id)
	check(c.Document(), workloads, defs...)
	return defs
}

// maxPorts bounds the ports of several groups: each group has all ports of its services, so a short SDL can have many.
const maxPorts = 100_000

// portsOfGroups returns how many ports the definitions of all groups have.
func (r *reader) portsOfGroups() int {
	n := 0
	for _, names := range r.groups {
		for _, name := range names {
			if s := r.services[name]; s != nil {
				n += len(s.exposes)
			}
		}
	}
	return n
}

// check validates the definitions with all their services, because the name of a service without global ports can
// collide with a Service that this program creates. Unless workloads are read, it then removes services that expose
// nothing.
func check(doc *document.Document, workloads bool, defs ...*lease.Definition) {
	doc.Check(defs...)
	for _, def := range defs {
		if !workloads {
			def.Services = slices.DeleteFunc(def.Services, func(s lease.Service) bool { return len(s.Expose) == 0 })
		}
	}
}

var versionGrammar = lazy.Pattern(`^\s*v?(\d{1,9})(?:\.(\d{1,9}))?(?:\.(\d{1,9})(-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?)?\s*$`)

// checkVersion accepts the versions that Akash's parser accepts: 2.0.0, and everything from 2.1.0; missing parts are 0
// (chain-sdk: go/sdl/sdl.go). It returns true for 2.0.
func checkVersion(root, c document.Cursor) bool {
	if c.IsNull() {
		root.Errorf("no version found; this program reads \"2.0\" and \"2.1\"")
		return false
	}
	m := versionGrammar().FindStringSubmatch(c.Raw())
	if m == nil {
		c.Errorf("%q is not a version; this program reads \"2.0\" and \"2.1\"", c.Raw())
		return false
	}
	major, _ := strconv.Atoi(m[1])
	minor, _ := strconv.Atoi(m[2])
	patch, _ := strconv.Atoi(m[3])
	pre := m[4] != ""
	is20 := major == 2 && minor == 0 && patch == 0 && !pre
	from21 := major > 2 || major == 2 && (minor > 1 || minor == 1 && (patch > 0 || !pre))
	if !is20 && !from21 {
		c.Errorf("unsupported version %q; this program reads \"2.0\" and \"2.1\"", c.Raw())
	}
	return is20
}

var endpointKeys = []string{"kind"}

func (r *reader) readEndpoints(c document.Cursor) {
	for key, v := range c.AnyMapping().Entries() {
		name := v.Key()
		kind := v.Mapping(endpointKeys).Get("kind")
		switch word := kind.Word(); word {
		case "ip":
		case "":
			key.Errorf("endpoint %q has no kind; write \"kind: ip\"", name)
		default:
			kind.Errorf("endpoint %q has the unknown kind %q; \"ip\" is known", name, word)
		}
		r.endpoints[name] = &endpoint{IPEndpoint: lease.IPEndpoint{Name: name, At: key.At()}}
	}
}

// checkEndpoint validates an endpoint that no group uses. Used endpoints are validated with the definition.
func (r *reader) checkEndpoint(name string) {
	e := r.endpoints[name]
	if e.used {
		return
	}
	problems := &r.root.Document().Problems
	if err := lease.CheckEndpointName(name); err != nil {
		problems.Add(e.At, "%v", err)
	}
	problems.Add(e.At, "endpoint %q is declared but never used", name)
}

var placementKeys = []string{"profile", "count"}

// readDeployment collects the groups. The deployment maps services to placements.
func (r *reader) readDeployment(c document.Cursor) {
	if c.IsNull() {
		r.root.Errorf("no deployment found: it says which services run where")
		return
	}
	services := c.AnyMapping()
	if !services.Present() {
		return
	}
	for key, v := range services.Entries() {
		name, places := v.Key(), v.AnyMapping()
		if s, ok := r.services[name]; ok {
			s.deployed = true
		} else {
			tell := key.Errorf
			if places.Len() == 0 && (v.IsNull() || places.Present()) {
				tell = key.Warnf // it runs nowhere, and Akash does not look for it
			}
			tell("there is no service named %q%s", name, suggest.ForKey(name, r.services))
		}
		for place, p := range places.Entries() {
			r.readPlacement(name, place, p)
		}
	}
	if len(r.groups) == 0 && !r.root.Document().Problems.Failed() {
		c.Errorf("the deployment names no service and placement")
	}
}

func (r *reader) readPlacement(name string, place, c document.Cursor) {
	m := c.Mapping(placementKeys)
	profile := m.Get("profile")
	if word := profile.Word(); word == "" {
		place.Errorf("no profile found: it names the compute profile of %q", name)
	} else if compute, ok := r.computes[word]; ok {
		compute.checkMinima()
	} else {
		profile.Errorf("there is no compute profile named %q%s", word, suggest.ForKey(word, r.computes))
	}
	if !r.places[place.Key()] {
		place.Errorf("there is no placement profile named %q%s", place.Key(), suggest.ForKey(place.Key(), r.places))
	}
	count := m.Get("count")
	if count.IsNull() {
		place.Errorf("no count found: it is how many of %q run", name)
	}
	n, _ := count.Uint(1, math.MaxUint32, "a count")
	r.placements[[2]string{place.Key(), name}] = placement{profile.Raw(), uint32(n)}
	r.groups[place.Key()] = append(r.groups[place.Key()], name)
}

// definitions returns the groups in Akash's order, by the name of the placement; gseq is their position from 1.
func (r *reader) definitions(id lease.ID) []*lease.Definition {
	var defs []*lease.Definition
	r.numberEndpoints()
	for i, name := range slices.Sorted(maps.Keys(r.groups)) {
		def := &lease.Definition{Lease: id, At: r.root.At()}
		def.Lease.GSeq = uint32(i) + 1
		for _, s := range r.groups[name] {
			if service := r.services[s]; service != nil {
				def.Services = append(def.Services, lease.Service{Name: s, At: service.at, Expose: slices.Clone(service.exposes)})
			}
		}
		addEndpoints(def, func(name string, at lease.Place) lease.IPEndpoint {
			if e := r.endpoints[name]; e != nil {
				return e.IPEndpoint
			}
			return lease.IPEndpoint{Name: name, At: at}
		})
		if r.workloads {
			def.Workloads = r.readWorkloads(name)
		}
		defs = append(defs, def)
	}
	return defs
}

// addEndpoints adds the endpoints that the exposes name to the definition.
func addEndpoints(def *lease.Definition, endpoint func(name string, at lease.Place) lease.IPEndpoint) {
	has := map[string]bool{"": true}
	for _, s := range def.Services {
		for _, e := range s.Expose {
			if !has[e.IP] {
				has[e.IP] = true
				def.IPEndpoints = append(def.IPEndpoints, endpoint(e.IP, e.IPAt))
			}
		}
	}
}
