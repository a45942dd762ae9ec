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

// subjectNames are the names of subjects on the command line.
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

// parseSubjects parses subjects, each of which may be a list with commas, and removes duplicates.
func parseSubjects(args []string) ([]view.Subject, error) {
	var subjects []view.Subject
	for _, arg := range args {
		for _, word := range strings.Split(arg, ",") {
			s, ok := subjectNames[strings.ToLower(word)]
			if !ok {
				return nil, usage.Errorf("there is no subject %q; hosts, ips, leases, pools, routes, dns, resources and orders are "+
					"known", word)
			}
			if !slices.Contains(subjects, s) {
				subjects = append(subjects, s)
			}
		}
	}
	return subjects, nil
}

// namedSubjects are the kinds of things that select rows of a subject.
var namedSubjects = map[view.Subject][]thing.Kind{
	view.SubjectHosts: {thing.Host}, view.SubjectRoutes: {thing.Host}, view.SubjectDNS: {thing.Host},
	view.SubjectIPs:    {thing.Address, thing.Endpoint},
	view.SubjectLeases: {thing.Lease}, view.SubjectOrders: {thing.Lease, thing.Order},
}

// parseStateArgs parses the arguments of state: subjects, then things in their rows. Without a subject it returns the
// subjects that list the things, whose kind their names must show.
func parseStateArgs(args []string) ([]view.Subject, []thing.Thing, error) {
	n := slices.IndexFunc(args, func(arg string) bool { return !isSubjects(arg) })
	if n < 0 {
		n = len(args)
	}
	subjects, err := parseSubjects(args[:n])
	if err != nil || n == len(args) {
		return subjects, nil, err
	}
	if n == 0 && !strings.ContainsAny(args[0], "./:") { // probably a mistyped subject
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
			return nil, nil, usage.Errorf("%q: which subject? Subjects come before names, and a name of one word needs one or its "+
				"kind, such as host/%s", arg, arg)
		}
		if n > 0 && !slices.ContainsFunc(subjects, func(s view.Subject) bool { return lists(s, t) }) {
			return nil, nil, usage.Errorf("%s does not name any of the %s; %s", t, joinSubjects(subjects), describeNames(subjects))
		}
		if !slices.Contains(things, t) {
			things = append(things, t)
		}
	}
	listsAny := func(s view.Subject) bool {
		return slices.ContainsFunc(things, func(t thing.Thing) bool { return lists(s, t) })
	}
	if n == 0 {
		subjects = slices.DeleteFunc(slices.Clone(view.Holdings), func(s view.Subject) bool { return !listsAny(s) })
		if slices.ContainsFunc(things, func(t thing.Thing) bool { return t.Kind == thing.Order }) {
			subjects = append(subjects, view.SubjectOrders)
		}
	}
	for _, s := range subjects {
		if !listsAny(s) {
			return nil, nil, usage.Errorf("no name is given for the %s; %s", s, describeNames([]view.Subject{s}))
		}
	}
	return subjects, things, nil
}

// isSubjects reports whether an argument is meant as subjects: the name of one, or a list with commas.
func isSubjects(arg string) bool {
	return subjectNames[strings.ToLower(arg)] != "" || strings.Contains(arg, ",") && !strings.ContainsAny(arg, "./:")
}

// lists reports whether a subject can have rows of the thing. A single word may be a host or an endpoint.
func lists(s view.Subject, t thing.Thing) bool {
	return slices.Contains(namedSubjects[s], t.Kind) || s == view.SubjectIPs && t.Endpoint != ""
}

func joinSubjects(subjects []view.Subject) string {
	words := make([]string, len(subjects))
	for i, s := range subjects {
		words[i] = string(s)
	}
	return strings.Join(words, ", ")
}

// describeNames returns a message with the names that select rows of the subjects.
func describeNames(subjects []view.Subject) string {
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
	return "they are named by " + flags.DescribeKinds(kinds)
}

// rowsOf returns a copy of the book that contains only the rows of the things. It keeps pools, resources and problems, whose
// rows have no names.
func rowsOf(book *view.Book, things ...thing.Thing) view.Book {
	b := *book
	b.Hosts = matching(b.Hosts, things, func(r view.HostRow, t thing.Thing) bool { return isHost(t, r.Host, r.Path) })
	b.Routes = matching(b.Routes, things, isRoute)
	b.DNS = matching(b.DNS, things, func(r view.DNSRow, t thing.Thing) bool { return isHost(t, r.Host, "") })
	b.IPs = matching(b.IPs, things, isPort)
	b.Leases = matching(b.Leases, things, isLease)
	b.Orders = matching(b.Orders, things, isOrder)
	return b
}

// matching returns the rows that are about one of the things.
func matching[R any](rows []R, things []thing.Thing, isAbout func(R, thing.Thing) bool) []R {
	return slices.DeleteFunc(slices.Clone(rows), func(r R) bool {
		return !slices.ContainsFunc(things, func(t thing.Thing) bool { return isAbout(r, t) })
	})
}

// isHost reports whether a thing is the host or a path of it. A host without a path includes all its paths.
func isHost(t thing.Thing, host, path string) bool {
	return t.Kind == thing.Host && strings.EqualFold(t.Host, host) &&
		(t.Path == "" || strings.TrimSuffix(t.Path, "/") == strings.TrimSuffix(path, "/"))
}

// isRoute reports whether a route serves the thing: its host, or for an OpenShift Route with a wildcard policy the wildcard,
// of which its host is only an example.
func isRoute(r view.RouteRow, t thing.Thing) bool {
	wildcard, path, _ := strings.Cut(r.Pattern(), "/")
	return isHost(t, r.Host, r.Path) || r.Wildcard && isHost(t, wildcard, "/"+path)
}

// isPort reports whether a row is a port of the thing, an address or an endpoint.
func isPort(r view.IPRow, t thing.Thing) bool {
	if t.Kind == thing.Address {
		return t.Addr == r.Address
	}
	return t.Endpoint != "" && strings.EqualFold(r.SharingKey, lease.SharingKey(r.Owner, t.Endpoint))
}

// isLease reports whether a row is a lease of the thing's deployment group. As in other commands, the order and the provider
// in its name are ignored.
func isLease(r view.LeaseRow, t thing.Thing) bool {
	return t.Kind == thing.Lease && t.Group == lease.Group{Owner: r.Owner, DSeq: r.DSeq, GSeq: r.GSeq}
}

// isOrder reports whether a row is the thing, an order, or an order of the thing's deployment group.
func isOrder(r view.OrderRow, t thing.Thing) bool {
	if t.Kind == thing.Order {
		return t.Order.String() == r.Order
	}
	return t.Kind == thing.Lease && t.Group == lease.Group{Owner: r.Owner, DSeq: r.DSeq, GSeq: r.GSeq}
}

// completeState completes subjects, and the things that the subjects before them list.
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

// completeSubjects completes the subjects that are not yet on the command line.
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
