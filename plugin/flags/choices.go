package flags

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/akash-net/kubectl-akash-net/engine/observed"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/emit"
	"github.com/akash-net/kubectl-akash-net/plugin/console"
	"github.com/akash-net/kubectl-akash-net/plugin/usage"
)

// choice is the value of a flag that is one of some words.
type choice struct {
	to    *string
	words []string
	// none is the word for "", such as none of --dry-run. Without one "" is a value if the flag has no initial one.
	none, initial string
}

// Set sets the value. Check says whether it is one.
func (c *choice) Set(text string) error {
	if *c.to = text; text == c.none {
		*c.to = ""
	}
	return nil
}

// String returns the value.
func (c *choice) String() string { return cmp.Or(*c.to, c.none) }

// Type returns the type that kubectl's help shows.
func (c *choice) Type() string { return "string" }

// Check returns a usage error unless the value is one of the words. The session calls it before the command runs.
func (c *choice) Check(flag string) error {
	if c.String() == c.initial {
		return nil
	}
	return CheckOneOf(flag, c.String(), c.words...)
}

// AddChoice adds a flag whose value is one of some words: the shell completes them, and the session refuses others. Without an
// initial value it need not be given.
func AddChoice(cmd *cobra.Command, value *string, name, initial, description string, words ...string) *pflag.Flag {
	*value = initial
	return addChoice(cmd, &choice{to: value, initial: initial, words: words}, name, "", description)
}

func addChoice(cmd *cobra.Command, c *choice, name, short, description string) *pflag.Flag {
	flag := cmd.Flags().VarPF(c, name, short, description)
	complete(cmd, name, c.words)
	return flag
}

// complete sets the words that the shell completes for a flag.
func complete(cmd *cobra.Command, flag string, words []string) {
	cobra.CheckErr(cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)))
}

// CheckOneOf returns a usage error unless the flag's value is one of at least two values.
func CheckOneOf(flag, value string, values ...string) error {
	if slices.Contains(values, value) {
		return nil
	}
	return usage.Errorf("--%s must be %s, not %q", flag, oneOf(values), value)
}

// oneOf lists at least two words.
func oneOf(words []string) string {
	last := len(words) - 1
	return "'" + strings.Join(words[:last], "', '") + "' or '" + words[last] + "'"
}

// AddOutput adds --output, one of the formats. note follows their list in the help.
func AddOutput(cmd *cobra.Command, value *string, initial, note string, formats ...string) {
	*value = initial
	addChoice(cmd, &choice{to: value, initial: initial, words: formats}, "output", "o", "One of "+oneOf(formats)+note)
}

// AddEvents adds --output with the formats of commands that write, and additional ones of which note tells.
func AddEvents(cmd *cobra.Command, value *string, note string, more ...string) {
	AddOutput(cmd, value, "", "; events are JSON, one a line"+note, append([]string{console.OutputEvents, console.OutputName}, more...)...)
}

// Document prints a document in a format of --output, and reports whether it is one for documents.
func Document(out io.Writer, format string, document any) (bool, error) {
	switch format {
	case emit.JSON:
		return true, emit.WriteJSON(out, document)
	case emit.YAML:
		return true, emit.WriteYAML(out, document)
	}
	return false, nil
}

// targets are the kinds of routes.
var targets = []string{config.TargetIngress, config.TargetHTTPRoute, config.TargetRoute}

// AddTarget adds --target, the kind of route.
func AddTarget(cmd *cobra.Command, value *string) {
	AddChoice(cmd, value, "target", "",
		"The kind of route: ingress, httproute or route (OpenShift). By default the kind in the provider's configuration", targets...)
}

// CheckTarget returns a usage error unless the value of a flag is a kind of route.
func CheckTarget(flag, value string) error { return CheckOneOf(flag, value, targets...) }

// AddTo adds --to, the kind of route to move to. It has to be given.
func AddTo(cmd *cobra.Command, value *string) {
	AddChoice(cmd, value, "to", "", "The kind of route to move to: ingress, httproute or route (OpenShift)", targets...)
}

// operators are the values of --operators.
var operators = []string{observed.OperatorsAuto, observed.OperatorsOn, observed.OperatorsOff}

// AddOperators adds --operators.
func AddOperators(cmd *cobra.Command, value *string) {
	AddChoice(cmd, value, "operators", observed.OperatorsAuto,
		"Whether Akash's hostname and IP operators create routes and Services: one of 'auto' (if their Deployments are in "+
			"namespace akash-services), 'on' and 'off'", operators...)
}

// CheckOperators returns a usage error unless value is one of --operators.
func CheckOperators(value string) error { return CheckOneOf("operators", value, operators...) }

// AddDryRun adds --dry-run. Without a value it means client, as formerly in kubectl.
func AddDryRun(cmd *cobra.Command, value *string) {
	addChoice(cmd, &choice{to: value, none: "none", initial: "none", words: []string{"none", "server", "client"}}, "dry-run", "",
		`Must be "none", "server", or "client". With client nothing is sent; with server each write is sent and not persisted`).NoOptDefVal = "client"
}

// count is the value of a flag that is at least 1.
type count int

// Set parses the value.
func (c *count) Set(text string) error {
	n, err := strconv.Atoi(text)
	if *c = count(n); err != nil {
		return errors.New("it is no number")
	}
	return nil
}

// String returns the value.
func (c *count) String() string { return fmt.Sprint(int(*c)) }

// Type returns the type that kubectl's help shows.
func (c *count) Type() string { return "int" }

// Check returns a usage error unless the value is at least 1.
func (c *count) Check(flag string) error {
	if *c < 1 {
		return usage.Errorf("--%s must be at least 1", flag)
	}
	return nil
}

// AddConcurrency adds --concurrency.
func AddConcurrency(cmd *cobra.Command, value *int) {
	*value = 16
	cmd.Flags().Var((*count)(value), "concurrency", "The maximum number of concurrent requests")
}
