package engine_test

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/akash-net/kubectl-akash-net/engine"
	"github.com/akash-net/kubectl-akash-net/engine/observed"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
)

// want parses a lease and what it wants: OWNER/DSEQ HOST[/PATH]... [address] [prune] [expires], OWNER/DSEQ release [HOST...], OWNER/DSEQ
// apply HOST[/PATH]... [prune] [httproute] [timeout] [adopt] [runs] [long], OWNER/DSEQ heal [prune], OWNER/DSEQ move HOST... [note] [await | unknown | served] [long] [again] [end], or OWNER/DSEQ transfer THING... [with HOST[/PATH]... [prune]...].
//
// from=SOURCE is the source that names the lease, of=SOURCE,… those of which one has to own it, an empty one is none; "obeys" is the reconciler's.
func (l *ledger) want(words []string) engine.Want {
	if i := slices.Index(words, "obeys"); i >= 0 {
		want := l.want(slices.Delete(slices.Clone(words), i, i+1))
		want.Obeys = true
		return want
	}
	for i, word := range words {
		key, source, is := strings.Cut(word, "=")
		if !is {
			continue
		}
		want := l.want(slices.Delete(slices.Clone(words), i, i+1))
		if key == "of" {
			want.Owned = strings.Split(source, ",")
		} else {
			want.Apply.Source = source
		}
		return want
	}
	id := leaseOf(words[0])
	want := engine.Want{Request: state.Request{Lease: id}}
	verb := ""
	if len(words) > 1 {
		verb = words[1]
	}
	switch verb {
	case "serves":
		want = l.reservation(want, words[2:])
		for _, h := range want.Request.Hosts {
			want.Serves = append(want.Serves, l.routes(h.Host)...)
		}
		return want
	case "fix":
		want.Release = l.fixes(id, words[2:])
		return want
	case "release":
		things := slices.DeleteFunc(slices.Clone(words[2:]), func(word string) bool { return slices.Contains([]string{"named", "emptied", "strays"}, word) })
		want.Release = &engine.Release{Choice: state.NewChoice(things), Emptied: slices.Contains(words, "emptied"), Strays: slices.Contains(words, "strays")}
		if slices.Contains(words, "named") {
			want.Release.Named = []lease.ID{id}
		}
		return want
	case "apply":
		def := definition(id, words[2:])
		l.said[def.Hash] = def
		want.Apply = &engine.Apply{Definition: def}
		want.Adopt = slices.Contains(words, "adopt")
		if slices.Contains(words, "manifest") {
			want.Manifest = l.manifest(id)
		}
		if slices.Contains(words, "runs") {
			want.Apply.Workloads = def
		}
	case "transfer":
		return l.transferWant(want, words[2:])
	case "move":
		return l.moveWant(want, words[2:])
	case "heal":
		if l.definitions[id.Group()] == nil {
			return want // there is nothing to heal
		}
		want.Apply = &engine.Apply{Definition: l.said[l.definitions[id.Group()].Hash], Heal: true}
	default:
		return l.reservation(want, words[1:])
	}
	want.Prune = slices.Contains(words, "prune")
	want.Apply.Kinds = render.Kinds(want.Apply.Definition, l.cfg)
	var problems lease.Problems
	if want.Request, problems = state.NewRequest(want.Apply.Definition, l.cfg); problems.Failed() {
		panic(problems.Errors())
	}
	return want
}

// fixes are those of the hosts that a lease is to give up, with what serves them for it; or, by other words, what stays, and which objects go:
// those of it, its declaration, or the routes in other namespaces.
func (l *ledger) fixes(id lease.ID, words []string) *engine.Release {
	out, word := &engine.Release{}, ""
	for _, host := range words {
		endpoint, port, isPort := strings.Cut(host, ":")
		if !isPort && !strings.Contains(host, ".") {
			word = host
			continue
		}
		f := engine.Fix{Stay: engine.GivenUp}
		if isPort { // what declares a port
			for _, c := range l.claims {
				if c.SharingKey == lease.SharingKey(id.Owner, endpoint) {
					f.Claim, f.Keys, f.Stay, f.Rest = l.read(c.Name(), ""), []string{state.PortPrefix + "tcp-" + port}, engine.Reserved, engine.Unserved
				}
			}
			k := engine.Key{Kind: kinds.ProviderLeasedIP, Namespace: l.cfg.ManifestNamespace, Name: lease.SharingKey(id.Owner, endpoint) + "-tcp-" + port}
			f.Objects = []observed.Object{{Kind: k.Kind, Live: l.live(k), Group: id.Group(), Lease: id}}
			out.Fixes = append(out.Fixes, f)
			continue
		}
		if c := l.claims[state.HostName(host)]; c != nil && word != "unentitled" && word != "unchanged" {
			f.Claim, f.Keys = l.read(c.Name(), ""), []string{state.RouteKey("/")}
		}
		declaration := engine.Key{Kind: kinds.ProviderHost, Namespace: l.cfg.ManifestNamespace, Name: host}
		goes := func(k engine.Key, u state.Use) bool { return u.Of(id.Group()) }
		switch word {
		case "gone":
			f.Gone = id.Namespace()
		case "followed":
			f.Stay, f.Declares = engine.Followed, []engine.Declaration{{Key: declaration, Seen: l.live(declaration)}}
			goes = func(engine.Key, state.Use) bool { return false }
		case "unmarked":
			f.Stay, goes = engine.Unmarked, func(engine.Key, state.Use) bool { return false }
		case "undeclared":
			f.Stay, f.Rest, f.Declares = engine.Reserved, engine.Unchanged, []engine.Declaration{{Key: declaration, Seen: l.live(declaration)}}
			goes = func(k engine.Key, _ state.Use) bool { return k.Kind == kinds.Ingress && k.Namespace == id.Namespace() }
		case "unentitled":
			f.Rest = engine.Unentitled
		case "unserved":
			f.Stay, f.Rest, goes = engine.Reserved, engine.Unserved, func(k engine.Key, _ state.Use) bool { return k == declaration }
		case "unchanged":
			f.Rest, f.Declares = engine.Unchanged, []engine.Declaration{{Key: declaration, Seen: l.live(declaration)}}
			goes = func(k engine.Key, _ state.Use) bool { return k.Kind == kinds.Ingress && k.Namespace != id.Namespace() }
		}
		for _, k := range l.keys() {
			live := l.objects[k].live
			if slices.ContainsFunc(state.HostUses(live), func(u state.Use) bool { return u.Host == host && goes(k, u) }) {
				of, _ := lease.IDFromLabels(live.GetLabels())
				f.Objects = append(f.Objects, observed.Object{Kind: k.Kind, Live: live, Group: of.Group(), Lease: of})
			}
		}
		out.Fixes = append(out.Fixes, f)
	}
	return out
}

// transferWant is what a lease wants that takes things over: by the definition that the ledger keeps for it, or with another one.
func (l *ledger) transferWant(want engine.Want, words []string) engine.Want {
	id := want.Request.Lease
	things, def := words, &lease.Definition{Lease: id}
	d := l.definitions[id.Group()]
	with := slices.Index(words, "with")
	if with >= 0 {
		things = words[:with]
		want = l.want(slices.Concat([]string{short(id.Group().String()), "apply"}, words[with+1:]))
	} else {
		if d != nil {
			def = l.said[d.Hash]
		}
		want.Request, _ = state.NewRequest(def, l.cfg)
		want.Apply = &engine.Apply{Definition: def, Kinds: render.Kinds(def, l.cfg)}
	}
	want.Transfer = &engine.Transfer{Things: things, Whole: with >= 0, Kept: d}
	for _, thing := range things {
		for _, c := range state.ClaimsOn(id.Owner, thing, func(name string) *state.Claim { return l.claims[name] }, func(string) []*state.Claim { return nil }) {
			for _, g := range state.OtherHolders(c, id) {
				if !slices.Contains(want.Transfer.From, g) {
					want.Transfer.From = append(want.Transfer.From, g)
				}
			}
		}
	}
	return want
}

// moveWant is what a lease wants whose Ingresses become HTTPRoutes: these; notes on the Ingresses that they go; or their end.
// Between them it waits for the new routes, for where they are reached, or for records and resolvers.
func (l *ledger) moveWant(want engine.Want, words []string) engine.Want {
	has := func(word string) bool { return slices.Contains(words, word) }
	id, end, note, await := want.Request.Lease, has("end"), has("note"), has("await") || has("unknown") || has("served")
	if want.Move = (&engine.Move{Ends: end, Awaits: await, Changed: await && !has("again")}); end {
		target := config.TargetHTTPRoute
		want.Move.Target = &target
	}
	for _, host := range slices.DeleteFunc(slices.Clone(words), func(word string) bool { return !strings.Contains(word, ".") }) {
		if has("unknown") {
			want.Move.Unknown = append(want.Move.Unknown, render.UnknownHost{Host: lease.Host{Name: host}, Source: config.FromStatus, Target: config.TargetHTTPRoute})
		}
		if has("served") {
			want.Move.Records = append(want.Move.Records, l.records(id, host, 60)...)
		}
		all, err := render.Lease(definition(id, []string{host, "httproute"}), l.cfg, nil)
		if err != nil {
			panic(err)
		}
		k := engine.Key{Kind: kinds.Ingress, Namespace: id.Namespace(), Name: lease.RouteName(host, "/")}
		old := l.objects[k]
		if old == nil {
			continue
		}
		m := engine.Moving{
			Old: observed.Object{Kind: k.Kind, Live: old.live, Group: id.Group(), Lease: id, Ours: true}, Host: host, Claim: host, Key: state.RouteKey("/"),
			New: engine.Key{Kind: kinds.HTTPRoute, Namespace: k.Namespace, Name: k.Name},
		}
		m.Was = l.live(m.New)
		if c := l.claims[host]; c != nil {
			part := c.Part(m.Key)
			m.Held = part != nil && part.Lease.Group() == id.Group()
		}
		for _, o := range all {
			if o.Kind == kinds.HTTPRoute && !note && !await {
				m.Objects = append(m.Objects, engine.Desired{Object: o, Manager: lease.FieldManager})
			}
		}
		if note {
			body := old.applied.DeepCopy()
			o := render.Annotated(render.Object{Kind: k.Kind, Namespace: k.Namespace, Name: k.Name, Config: body}, lease.AnnotationDNSTTL, "300")
			m.Objects = []engine.Desired{{Object: o, Manager: old.manager, Message: "it stays for 5m0s once DNS leads elsewhere"}}
		}
		if has("served") {
			m.Lag = map[bool]time.Duration{false: 5 * time.Second, true: 5 * time.Minute}[has("long")]
		}
		want.Move.Routes = append(want.Move.Routes, m)
	}
	for _, k := range l.keys() {
		if _, _, redirect := lease.ParseRouteName(k.Name); end && redirect && k.Namespace == id.Namespace() {
			want.Move.Companions = append(want.Move.Companions, objectOf(k, l.objects[k].live))
		}
	}
	return want
}

// reservation adds the things that a lease reserves to what it wants.
func (l *ledger) reservation(want engine.Want, words []string) engine.Want {
	id := want.Request.Lease
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

// definition is what a lease routes to its service: hosts with paths, and ports as ENDPOINT:PORT.
func definition(id lease.ID, words []string) *lease.Definition {
	web := lease.Service{Name: "web"}
	var options lease.HTTPOptions
	var ports []lease.Expose
	var endpoints []lease.IPEndpoint
	name := ""
	for _, word := range words {
		switch word {
		case "long": // too long to be kept
			name = strings.Repeat("x", 5<<20)
		case "prune", "adopt", "runs", "manifest", "assuming":
		case "httproute":
			web.Target = config.TargetHTTPRoute
		case "timeout":
			options.ReadTimeout = 30 * time.Second
		default:
			if endpoint, port, isPort := strings.Cut(word, ":"); isPort {
				as, err := strconv.ParseUint(port, 10, 16)
				if err != nil {
					panic(err)
				}
				ports = append(ports, lease.Expose{Port: 80, As: uint16(as), Protocol: lease.TCP, Global: true, IP: endpoint})
				if len(endpoints) == 0 {
					endpoints = append(endpoints, lease.IPEndpoint{Name: endpoint})
				}
				continue
			}
			host, path, below := strings.Cut(word, "/")
			e := lease.Expose{Port: 80, Protocol: lease.TCP, Global: true, Hosts: []lease.Host{{Name: host}}}
			if below {
				e.Path = "/" + path
			}
			web.Expose = append(web.Expose, e)
		}
	}
	for i := range web.Expose {
		web.Expose[i].HTTP = options
	}
	web.Expose = append(web.Expose, ports...)
	def := &lease.Definition{Name: name, Lease: id, IPEndpoints: endpoints}
	if len(web.Expose) > 0 {
		def.Services = []lease.Service{web}
	}
	if problems := lease.Check(def); problems.Failed() {
		panic(problems.Errors())
	}
	def.Hash = lease.Sum(def)
	return def
}

const ownerPrefix = "akash1"

// leaseOf parses OWNER/DSEQ, or OWNER/DSEQ/OSEQ. An owner is one letter.
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
	return lease.ID{Owner: ownerPrefix + strings.ToLower(words[0]), DSeq: n, GSeq: 1, OSeq: uint32(order), Provider: ownerPrefix + "provider"}
}

// short is a text with leases as stories name them, and A-1 for the namespace of A/1.
func short(text string) string { return shorter.Replace(text) }

var shorter = func() *strings.Replacer {
	var of []string
	for _, owner := range []string{"A", "B", "C"} {
		for dseq := range 3 {
			for oseq := range 2 {
				name := fmt.Sprintf("%s/%d", owner, dseq+1)
				if oseq > 0 {
					name += "/2"
				}
				id := leaseOf(name)
				of = append(of, id.String(), name, id.Namespace(), strings.ReplaceAll(name, "/", "-"))
			}
			g := leaseOf(fmt.Sprintf("%s/%d", owner, dseq+1)).Group()
			of = append(of, g.String(), fmt.Sprintf("%s/%d", owner, dseq+1))
		}
		of = append(of, ownerPrefix+strings.ToLower(owner), owner)
	}
	return strings.NewReplacer(of...)
}()
