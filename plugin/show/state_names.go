package show

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/thing"
	"github.com/akash-net/kubectl-akash-net/plugin/flags"
	"github.com/akash-net/kubectl-akash-net/plugin/session"
	"github.com/akash-net/kubectl-akash-net/plugin/usage"
	"github.com/akash-net/kubectl-akash-net/state/view"
)

// subjectNames are the words by which a subject is asked for.
var subjectNames = map[string]view.Subject{
	"hosts": view.SubjectHosts, "host": view.SubjectHosts,
	"ips": view.SubjectIPs, "ip": view.SubjectIPs,
	"leases": view.SubjectLeases, "lease": view.SubjectLeases,
	"pools": view.SubjectPools, "pool": view.SubjectPools,
	"routes": view.SubjectRoutes, "route": view.SubjectRoutes,
	"dns":       view.SubjectDNS,
	"resources": view.SubjectResources, "resource": view.SubjectResources,
	"orders": view.SubjectOrders, "order": view.SubjectOrders,
}

// parseSubjects reads subjects, separated by commas or given one by one; each is shown once.
func parseSubjects(args []string) ([]view.Subject, error) {
	var subjects []view.Subject
	for _, arg := range args {
		for _, word := range strings.Split(arg, ",") {
			s, ok := subjectNames[strings.ToLower(word)]
			if !ok {
				return nil, usage.Errorf("there is no subject %q; hosts, ips, leases, pools, routes, dns, resources and orders are known", word)
			}
			if !slices.Contains(subjects, s) {
				subjects = append(subjects, s)
			}
		}
	}
	return subjects, nil
}

// namedSubjects are the subjects whose rows can be chosen by name, with the kinds of those names.
var namedSubjects = map[view.Subject][]thing.Kind{
	view.SubjectHosts: {thing.Host}, view.SubjectRoutes: {thing.Host}, view.SubjectDNS: {thing.Host},
	view.SubjectIPs:    {thing.Address, thing.Endpoint},
	view.SubjectLeases: {thing.Lease}, view.SubjectOrders: {thing.Lease, thing.Order},
}

// parseStateArgs reads the arguments of state: subjects, then names of what they list. A name that says
// of itself what it is needs no subject: those of its kind are listed.
func parseStateArgs(args []string) ([]view.Subject, []thing.Thing, error) {
	n := slices.IndexFunc(args, func(arg string) bool { return !isSubjects(arg) })
	if n < 0 {
		n = len(args)
	}
	subjects, err := parseSubjects(args[:n])
	if err != nil || n == len(args) {
		return subjects, nil, err
	}
	if n == 0 && !strings.ContainsAny(args[0], "./:") { // a host of one word, an endpoint, or a mistyped subject
		_, err := parseSubjects(args[:1])
		return nil, nil, err
	}
	var things []thing.Thing
	for _, arg := range args[n:] {
		t, err := thing.Parse(arg)
		if err != nil {
			return nil, nil, usage.Wrap(err)
		}
		if n == 0 && t.Kind == thing.Host && t.Endpoint != "" {
			return nil, nil, usage.Errorf("%q: which subject? Subjects come before names, and a name of one word needs one or its kind, such as host/%s", arg, arg)
		}
		if n > 0 && !slices.ContainsFunc(subjects, func(s view.Subject) bool { return lists(s, t) }) {
			return nil, nil, usage.Errorf("%s does not name any of the %s; %s", t, subjectsText(subjects), takenText(subjects))
		}
		if !slices.Contains(things, t) {
			things = append(things, t)
		}
	}
	if n == 0 {
		for _, s := range view.Holdings {
			if slices.ContainsFunc(things, func(t thing.Thing) bool { return lists(s, t) }) {
				subjects = append(subjects, s)
			}
		}
		if slices.ContainsFunc(things, func(t thing.Thing) bool { return t.Kind == thing.Order }) {
			subjects = append(subjects, view.SubjectOrders)
		}
	}
	for _, s := range subjects {
		if !slices.ContainsFunc(things, func(t thing.Thing) bool { return lists(s, t) }) {
			return nil, nil, usage.Errorf("no name is given for the %s; %s", s, takenText([]view.Subject{s}))
		}
	}
	return subjects, things, nil
}

// isSubjects is true for a word that is meant to name subjects: one that does, and a list with commas.
func isSubjects(arg string) bool {
	return subjectNames[strings.ToLower(arg)] != "" || strings.Contains(arg, ",") && !strings.ContainsAny(arg, "./:")
}

// lists is true for a subject among whose rows the thing can be. A word may be a host's or an endpoint's.
func lists(s view.Subject, t thing.Thing) bool {
	return slices.Contains(namedSubjects[s], t.Kind) || s == view.SubjectIPs && t.Endpoint != ""
}

func subjectsText(subjects []view.Subject) string {
	words := make([]string, len(subjects))
	for i, s := range subjects {
		words[i] = string(s)
	}
	return strings.Join(words, ", ")
}

// takenText says by which names rows of the subjects are chosen.
func takenText(subjects []view.Subject) string {
	var kinds []thing.Kind
	for _, s := range subjects {
		for _, k := range namedSubjects[s] {
			if !slices.Contains(kinds, k) {
				kinds = append(kinds, k)
			}
		}
	}
	if len(kinds) == 0 {
		return "they have no names to choose by"
	}
	return "they are named by " + flags.KindsText(kinds)
}

// choose keeps the rows of the things that are named.
func (f *stateFlags) choose(book *view.Book) {
	if len(f.things) == 0 {
		return
	}
	host := func(name, path string) bool {
		return slices.ContainsFunc(f.things, func(t thing.Thing) bool { return isHost(t, name, path) })
	}
	book.Hosts = slices.DeleteFunc(book.Hosts, func(r view.HostRow) bool { return !host(r.Host, r.Path) })
	book.Routes = slices.DeleteFunc(book.Routes, func(r view.RouteRow) bool { return !host(r.Host, r.Path) && !isPattern(f.things, r) })
	book.DNS = slices.DeleteFunc(book.DNS, func(r view.DNSRow) bool { return !host(r.Host, "") })
	book.IPs = slices.DeleteFunc(book.IPs, func(r view.IPRow) bool {
		return !slices.ContainsFunc(f.things, func(t thing.Thing) bool { return isPort(t, r) })
	})
	book.Leases = slices.DeleteFunc(book.Leases, func(r view.LeaseRow) bool {
		return !slices.ContainsFunc(f.things, func(t thing.Thing) bool { return isLease(t, r) })
	})
	book.Orders = slices.DeleteFunc(book.Orders, func(r view.OrderRow) bool {
		return !slices.ContainsFunc(f.things, func(t thing.Thing) bool { return isOrder(t, r) })
	})
}

// absent says which of the things a book that was chosen from has no row of.
func (f *stateFlags) absent(book *view.Book) error {
	if f.ignoreMissing {
		return nil
	}
	there := func(t thing.Thing) bool {
		return slices.ContainsFunc(book.Hosts, func(r view.HostRow) bool { return isHost(t, r.Host, r.Path) }) ||
			slices.ContainsFunc(book.Routes, func(r view.RouteRow) bool {
				return isHost(t, r.Host, r.Path) || isPattern([]thing.Thing{t}, r)
			}) ||
			slices.ContainsFunc(book.DNS, func(r view.DNSRow) bool { return isHost(t, r.Host, "") }) ||
			slices.ContainsFunc(book.IPs, func(r view.IPRow) bool { return isPort(t, r) }) ||
			slices.ContainsFunc(book.Leases, func(r view.LeaseRow) bool { return isLease(t, r) }) ||
			slices.ContainsFunc(book.Orders, func(r view.OrderRow) bool { return isOrder(t, r) })
	}
	where := ""
	if f.namespace != "" {
		where += " of namespace " + f.namespace
	}
	if f.shard != "" {
		where += " of shard " + f.shard
	}
	return flags.MissingThings(f.things, func(t thing.Thing) bool { return !there(t) }, "%s is not found among %s%s", subjectsText(f.subjects), where)
}

// isHost is true for the host, or the path of it, that a row is about. A host is named with all its paths.
func isHost(t thing.Thing, host, path string) bool {
	return t.Kind == thing.Host && strings.EqualFold(t.Host, host) && (t.Path == "" || strings.TrimSuffix(t.Path, "/") == strings.TrimSuffix(path, "/"))
}

// isPattern is true for a wildcard that an OpenShift Route serves: its host is only one of those below it.
func isPattern(things []thing.Thing, r view.RouteRow) bool {
	host, path, _ := strings.Cut(r.Pattern(), "/")
	return r.Wildcard && slices.ContainsFunc(things, func(t thing.Thing) bool { return isHost(t, host, "/"+path) })
}

// isPort is true for a port of the address, or of the endpoint, that is named.
func isPort(t thing.Thing, r view.IPRow) bool {
	if t.Kind == thing.Address {
		return t.Addr == r.Address
	}
	return t.Endpoint != "" && strings.EqualFold(r.SharingKey, lease.SharingKey(r.Owner, t.Endpoint))
}

// isLease is true for a lease of the deployment group that is named: what follows it does not count, as in
// other commands.
func isLease(t thing.Thing, r view.LeaseRow) bool {
	return t.Kind == thing.Lease && t.Group == lease.Group{Owner: r.Owner, DSeq: r.DSeq, GSeq: r.GSeq}
}

// isOrder is true for the order, or an order of the deployment group, that is named.
func isOrder(t thing.Thing, r view.OrderRow) bool {
	if t.Kind == thing.Order {
		return t.Order.String() == r.Order
	}
	return t.Kind == thing.Lease && t.Group == lease.Group{Owner: r.Owner, DSeq: r.DSeq, GSeq: r.GSeq}
}

// completeState completes subjects, and names of what those list.
func completeState(c *session.Session) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
		var kinds []thing.Kind
		subjects, _, _ := parseStateArgs(args)
		for _, s := range subjects {
			kinds = append(kinds, namedSubjects[s]...)
		}
		out, directive := completeSubjects(cmd, args, toComplete)
		if strings.Contains(toComplete, "/") { // a name with its kind needs no subject
			kinds = append(kinds, thing.Host, thing.Address, thing.Lease)
		}
		if len(kinds) == 0 {
			return out, directive
		}
		names, _ := flags.CompleteThings(c, kinds...)(cmd, args, toComplete)
		return append(out, names...), directive
	}
}

// completeSubjects completes the subjects that are not named yet.
func completeSubjects(_ *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
	named, _ := parseSubjects(args)
	before := ""
	if i := strings.LastIndex(toComplete, ","); i >= 0 {
		before = toComplete[:i+1]
		more, _ := parseSubjects([]string{toComplete[:i]})
		named = append(named, more...)
	}
	var out []string
	for _, s := range append(slices.Clone(view.Subjects), view.SubjectDNS, view.SubjectResources, view.SubjectOrders) {
		if word := before + string(s); !slices.Contains(named, s) && strings.HasPrefix(word, toComplete) {
			out = append(out, word)
		}
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}
