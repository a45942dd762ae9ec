package configure

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/akash-net/kubectl-akash-net/lease/schema"
	"github.com/akash-net/kubectl-akash-net/manifests"
	"github.com/akash-net/kubectl-akash-net/plugin/session"
	"github.com/akash-net/kubectl-akash-net/plugin/terminal"
	"github.com/akash-net/kubectl-akash-net/plugin/usage"
)

func newExplain(c *session.Session) *cobra.Command {
	recursive := false
	cmd := &cobra.Command{
		Use:   "explain [KEY]",
		Short: "Explain the keys of the configuration and of lease definitions",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usage.Errorf("name one key, not %d", len(args))
			}
			return nil
		},
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
