// Package configure has the commands that show, explain and change the provider's configuration.
package configure

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/document"
	"github.com/akash-net/kubectl-akash-net/lease/emit"
	"github.com/akash-net/kubectl-akash-net/lease/files"
	"github.com/akash-net/kubectl-akash-net/lease/schema"
	"github.com/akash-net/kubectl-akash-net/manifests"
	"github.com/akash-net/kubectl-akash-net/plugin/flags"
	"github.com/akash-net/kubectl-akash-net/plugin/session"
	"github.com/akash-net/kubectl-akash-net/plugin/terminal"
	"github.com/akash-net/kubectl-akash-net/plugin/usage"
)

// New returns the group of the commands.
func New(c *session.Session) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config SUBCOMMAND",
		Short: "Show, explain and change the provider's configuration",
	}
	flags.Group(cmd, newView(c), newEdit(c), newValidate(c), newExplain(c))
	return c.SetScope(cmd, session.Scope{Offline: session.AlwaysOffline, Unconfigured: true})
}

// example returns the default configuration with its comments.
func example() (string, error) {
	object, err := manifests.Config(config.Default(), "")
	if err != nil {
		return "", err
	}
	text, _, err := unstructured.NestedString(object.Object, "data", manifests.ConfigMapKey)
	return text, err
}

// hasContent reports whether a text has a line that is no comment.
func hasContent(text string) bool {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			return true
		}
	}
	return false
}

func newValidate(c *session.Session) *cobra.Command {
	var in files.Names
	cmd := &cobra.Command{
		Use:   "validate [-f FILE]",
		Short: "Check a configuration for errors",
		Args:  flags.NoFiles,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if len(in.Files) > 0 {
				return validateFiles(cmd.Context(), c, &in)
			}
			return validate(cmd.Context(), c)
		},
	}
	flags.AddFiles(cmd, &in, "Files, or folders of files, with configurations; - is standard input")
	return c.SetScope(cmd, session.Scope{Offline: func() bool { return c.ConfigFile != "" || len(in.Files) > 0 }})
}

func validate(ctx context.Context, c *session.Session) error {
	from, err := clusterOf(c)
	if err != nil {
		return err
	}
	_, read, err := c.Configured(ctx, from)
	switch {
	case err != nil:
		return err
	case c.ConfigFile == "" && read.Text == "":
		fmt.Fprintln(c.Text, "the cluster has no configuration, so that the defaults apply")
		return nil
	}
	return valid(c, read.Place)
}

// validateFiles checks each file, and returns the errors in all of them.
func validateFiles(ctx context.Context, c *session.Session, in *files.Names) error {
	var all lease.Problems
	err := in.Each(ctx, c.In, document.DefaultSize, func(r io.Reader, name string) error {
		text, err := io.ReadAll(r)
		if err == nil {
			_, err = c.ReadConfig(session.Document{Text: string(text), Place: name})
		}
		if problems, wrong := errors.AsType[lease.Problems](err); wrong {
			all = append(all, problems...)
			return nil
		}
		if err == nil {
			err = valid(c, name)
		}
		return err
	})
	if err == nil && len(all) > 0 {
		return all
	}
	return err
}

func valid(c *session.Session, place string) error {
	if place == "-" {
		place = "standard input"
	}
	_, err := fmt.Fprintln(c.Text, place+" is valid")
	return err
}

func newView(c *session.Session) *cobra.Command {
	var output string
	var defaults bool
	cmd := &cobra.Command{
		Use:        "view [--defaults]",
		SuggestFor: []string{"example"},
		Short:      "Show the configuration that applies, or the default one",
		Args:       cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if defaults {
				return viewDefaults(c, output)
			}
			return view(cmd.Context(), c, output)
		},
	}
	flags.AddOutput(cmd, &output, "", "; yaml by default. With --defaults both are without comments", emit.YAML, emit.JSON)
	cmd.Flags().BoolVar(&defaults, "defaults", false, "Show the default configuration, with a comment on each key")
	return c.SetScope(cmd, session.Scope{Offline: func() bool { return defaults || c.ConfigFile != "" }})
}

func view(ctx context.Context, c *session.Session, output string) error {
	from, err := clusterOf(c)
	if err != nil {
		return err
	}
	cfg, err := c.Configuration(ctx, from)
	if err != nil {
		return err
	}
	return printConfig(c, cfg, output)
}

// viewDefaults prints the default configuration.
func viewDefaults(c *session.Session, output string) error {
	if output != "" {
		return printConfig(c, config.Default(), output)
	}
	text, err := example()
	if err == nil {
		_, err = fmt.Fprint(c.Out, text)
	}
	return err
}

func printConfig(c *session.Session, cfg *config.ProviderConfig, output string) error {
	_, err := flags.Document(c.Out, cmp.Or(output, emit.YAML), config.Encode(cfg))
	return err
}

// clusterOf connects to the cluster whose configuration applies. It returns nil if --config names a file.
func clusterOf(c *session.Session) (*cluster.Cluster, error) {
	if c.ConfigFile != "" {
		return nil, nil
	}
	return c.Connect(session.Requests)
}

func newExplain(c *session.Session) *cobra.Command {
	recursive := false
	cmd := &cobra.Command{
		Use:   "explain [KEY]",
		Short: "Explain the keys of the configuration and of lease definitions",
		Args:  flags.Args(0, 1, "name one key"),
		RunE: func(_ *cobra.Command, args []string) error {
			roots, err := manifests.Schemas()
			if err != nil {
				return err
			}
			key := "providerconfig.spec"
			if len(args) > 0 {
				key = args[0]
			}
			kind, path, s, err := find(roots, key)
			if err != nil {
				return usage.Wrap(err)
			}
			explain(c.Text, kind, path, s, recursive)
			return nil
		},
		ValidArgsFunction: completeKeys,
	}
	cmd.Flags().BoolVar(&recursive, "recursive", false, "Print the names and types of all keys below the key, without descriptions")
	return c.SetScope(cmd, session.Scope{Offline: session.AlwaysOffline, Unconfigured: true})
}

// find returns what a key names: a kind, a path from the root of a document of that kind, or one from its spec. Indices, as messages have
// them, are left out.
func find(roots []*schema.Schema, typed string) (kind string, path []string, found *schema.Schema, err error) {
	words := strings.FieldsFunc(typed, func(r rune) bool { return r == '.' || r == '[' || r == ']' })
	path = words[:0:0]
	for _, word := range words {
		if strings.Trim(word, "0123456789") != "" {
			path = append(path, word)
		}
	}
	if len(path) > 0 {
		for _, root := range roots {
			if strings.EqualFold(path[0], root.Title) {
				s, err := root.Find(path[1:]...)
				return root.Title, path[1:], s, err
			}
		}
	}
	var wrong error
	for _, root := range roots {
		for _, from := range [][]string{nil, {"spec"}} {
			at := append(from, path...)
			s, err := root.Find(at...)
			if err == nil && len(path) > 0 {
				return root.Title, at, s, nil
			}
			if from != nil && (wrong == nil || strings.Contains(err.Error(), "did you mean")) {
				wrong = err
			}
		}
	}
	if wrong == nil {
		wrong = fmt.Errorf("%q is no key", typed)
	}
	return "", nil, nil, fmt.Errorf("%w\nThe keys are listed by: kubectl akash-net config explain providerconfig|leasedefinition --recursive", wrong)
}

// explain prints a key as "kubectl explain" does.
func explain(out io.Writer, kind string, path []string, s *schema.Schema, recursive bool) {
	fmt.Fprintf(out, "KIND:       %s\nVERSION:    net.akash.network/v1alpha1\n\n", kind)
	if len(path) > 0 {
		fmt.Fprintf(out, "FIELD: %s <%s>\n\n", strings.Join(path, "."), s.TypeName())
	}
	fmt.Fprintf(out, "DESCRIPTION:\n%s\n", paragraph(s.Description, "    "))
	if choices := s.Choices(); len(choices) > 0 {
		fmt.Fprintf(out, "ENUM:\n    %s\n\n", strings.Join(choices, "\n    "))
	}
	if text := s.DefaultText(); text != "" {
		fmt.Fprintf(out, "DEFAULT:\n    %s\n\n", text)
	}
	if s.Page != "" {
		fmt.Fprintf(out, "MORE:\n    docs/%s\n\n", s.Page)
	}
	if len(s.Keys()) > 0 {
		fmt.Fprintln(out, "FIELDS:")
		printKeys(out, s, "  ", recursive)
	}
}

func printKeys(out io.Writer, s *schema.Schema, indent string, recursive bool) {
	for _, p := range s.Keys() {
		required := ""
		if s.Needs(p.Name) {
			required = " -required-"
		}
		fmt.Fprintf(out, "%s%s\t<%s>%s\n", indent, p.Name, p.Value.TypeName(), required)
		if recursive {
			printKeys(out, p.Value, indent+"  ", true)
			continue
		}
		fmt.Fprintln(out, paragraph(p.Value.Description, indent+"  "))
	}
}

// width is the width of an explanation in columns.
const width = 80

// paragraph returns a description as a paragraph, and the line that ends it.
func paragraph(text, indent string) string {
	return terminal.Paragraph(strings.ReplaceAll(text, "`", ""), indent, width)
}

// completeKeys completes the keys below spec of both kinds, one step at a time.
func completeKeys(_ *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
	const directive = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	roots, err := manifests.Schemas()
	if err != nil || len(args) > 0 {
		return nil, directive
	}
	parent := ""
	if i := strings.LastIndex(toComplete, "."); i >= 0 {
		parent = toComplete[:i]
	}
	var keys []string
	for _, root := range roots {
		if parent == "" {
			keys = append(keys, strings.ToLower(root.Title))
		}
		below, err := root.Find("spec")
		if parent != "" {
			_, _, below, err = find([]*schema.Schema{root}, parent)
		}
		if err != nil {
			continue
		}
		for _, p := range below.Keys() {
			keys = append(keys, strings.TrimPrefix(parent+"."+p.Name, "."))
		}
	}
	return keys, directive
}
