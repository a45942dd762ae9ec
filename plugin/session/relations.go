package session

import (
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/akash-net/kubectl-akash-net/plugin/usage"
)

// relation is what one flag has to do with others in the commands that have it.
type relation struct {
	flag, verb, other string
	// in are the commands of which it is true; none means all.
	in []string
}

const (
	requires = "requires"
	excludes = "excludes"
)

// relations are those of the flags that only their being given decides. Commands check the others.
var relations = []relation{
	{"recursive", requires, "filename", nil},
	{"endpoint", requires, "address", nil},
	{"show-secrets", requires, "workloads", []string{"convert"}},
	{"reconciler-image", requires, "reconciler", nil},
	{"filename", excludes, "config", []string{"validate"}},
	{"defaults", excludes, "config", nil},
	{"service", excludes, "container", nil},
	{"since", excludes, "since-time", nil},
	{"previous", excludes, "follow", nil},
	{"source", requires, "filename", nil},
	{"watch", excludes, "dry-run", nil},
	{"listen", requires, "watch", nil},
	{"listen-as-operators", requires, "watch", nil},
	{"tls-cert-file", requires, "listen", nil},
	{"tls-private-key-file", requires, "listen", nil},
	{"tls-cert-file", requires, "tls-private-key-file", nil},
	{"tls-private-key-file", requires, "tls-cert-file", nil},
}

// checkFlags refuses values that a flag cannot have, and flags that require or exclude one another.
func checkFlags(cmd *cobra.Command) (wrong error) {
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if v, ok := f.Value.(interface{ Check(flag string) error }); ok && wrong == nil {
			wrong = v.Check(f.Name)
		}
	})
	for _, r := range relations {
		one, other := cmd.Flags().Lookup(r.flag), cmd.Flags().Lookup(r.other)
		switch {
		case wrong != nil || !given(one) || other == nil || r.in != nil && !slices.Contains(r.in, cmd.Name()):
		case r.verb == requires && !given(other):
			wrong = usage.Errorf("%s requires %s", typed(one), typed(other))
		case r.verb == excludes && given(other):
			wrong = usage.Errorf("%s and %s cannot be used together", typed(one), typed(other))
		}
	}
	return wrong
}

// given reports whether a flag was set to something.
func given(f *pflag.Flag) bool {
	return f != nil && f.Changed && !slices.Contains([]string{"", "false", "none", "[]"}, f.Value.String())
}

// typed returns a flag as people type it: that of files, and that of their folders, by their letters.
func typed(f *pflag.Flag) string {
	if f.Name == "filename" || f.Name == "recursive" {
		return "-" + f.Shorthand
	}
	return "--" + f.Name
}
