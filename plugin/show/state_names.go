package show

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/akash-net/kubectl-akash-net/lease/thing"
	"github.com/akash-net/kubectl-akash-net/plugin/flags"
	"github.com/akash-net/kubectl-akash-net/plugin/session"
	"github.com/akash-net/kubectl-akash-net/plugin/usage"
	"github.com/akash-net/kubectl-akash-net/state/view"
)

// parseSubjects parses subjects, each of which may be a list with commas, and removes duplicates.
func parseSubjects(args []string) ([]view.Subject, error) {
	var subjects []view.Subject
	for _, arg := range args {
		for _, word := range strings.Split(arg, ",") {
			s, ok := view.SubjectOf(word)
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
		if n > 0 && !slices.ContainsFunc(subjects, func(s view.Subject) bool { return view.ListingOf(s).About().Lists(t) }) {
			return nil, nil, usage.Errorf("%s does not name any of the %s; %s", t, joinSubjects(subjects), describeNames(subjects))
		}
		if !slices.Contains(things, t) {
			things = append(things, t)
		}
	}
	listsAny := func(s view.Subject) bool {
		return slices.ContainsFunc(things, func(t thing.Thing) bool { return view.ListingOf(s).About().Lists(t) })
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
	_, is := view.SubjectOf(arg)
	return is || strings.Contains(arg, ",") && !strings.ContainsAny(arg, "./:")
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
		for _, k := range view.ListingOf(s).About().Kinds {
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

// completeState completes subjects, and the things that the subjects before them list.
func completeState(c *session.Session) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
		var kinds []thing.Kind
		subjects, _, _ := parseStateArgs(args)
		for _, s := range subjects {
			kinds = append(kinds, view.ListingOf(s).About().Kinds...)
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
	for _, l := range view.Listings() {
		about := l.About()
		if word := before + string(about.Subject); len(about.Words) > 0 && !slices.Contains(named, about.Subject) && strings.HasPrefix(word, toComplete) {
			out = append(out, word)
		}
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}
