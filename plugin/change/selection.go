package change

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/plugin/console"
	"github.com/akash-net/kubectl-akash-net/plugin/session"
	"github.com/akash-net/kubectl-akash-net/plugin/terminal"
	"github.com/akash-net/kubectl-akash-net/plugin/usage"
)

// selection are the flags of commands that process named leases, those with matching labels, or all.
type selection struct {
	selector string
	// matches is the parsed selector.
	matches  labels.Selector
	all, yes bool
	// namespace limits -l and --all to leases of a namespace; "" for all.
	namespace string
	// files is true if -f names the leases, by their definitions.
	files bool
	// short is true if arguments are short names of leases: another lease may have such a name than when it was typed before.
	short bool
}

// add adds the flags. verb begins their usage texts.
func (s *selection) add(cmd *cobra.Command, verb string) {
	cmd.Flags().StringVarP(&s.selector, "selector", "l", "",
		verb+" the leases whose labels (Akash's, akash.network/lease.id.…) match")
	cmd.Flags().BoolVar(&s.all, "all", false, verb+" all leases, after confirmation")
	cmd.Flags().BoolVarP(&s.yes, "yes", "y", false, "Do not ask")
}

// check requires exactly one of args and the flags that select leases, which are listed for messages, and parses the selector.
func (s *selection) check(args []string, verb, flags string) (err error) {
	ways := 0
	for _, given := range []bool{len(args) > 0, s.selector != "", s.all, s.files} {
		if given {
			ways++
		}
	}
	if ways != 1 {
		return usage.Errorf("name the leases to %s (OWNER/DSEQ/GSEQ), or use one of %s", verb, flags)
	}
	if s.matches, err = labels.Parse(s.selector); err != nil {
		return usage.Errorf("--selector: %w", err)
	}
	return nil
}

// nothing reports that no lease is selected. has says what the leases have among which the flags select, and all is
// their number. It is an error if a selector or a namespace was given, because there may be a typing error.
func (s *selection) nothing(c *console.Console, all int, has string, ignore bool) error {
	var asked []string
	if s.selector != "" {
		asked = append(asked, "has the labels "+s.selector+" (Akash's labels of a lease are "+lease.LabelOwner+", "+lease.LabelDSeq+" and "+
			lease.LabelGSeq+")")
	}
	if s.namespace != "" {
		asked = append(asked, "is in namespace "+s.namespace)
	}
	if len(asked) == 0 {
		fmt.Fprintf(c.ErrOut, "No lease %s.\n", has)
		return nil
	}
	missing := fmt.Sprintf("no lease that %s %s; looked at %s", has, strings.Join(asked, " and "), lease.Count(all, "lease"))
	if ignore {
		fmt.Fprintln(c.ErrOut, missing+".")
		return nil
	}
	return &session.MissingError{What: []string{missing}}
}

// confirm asks the user a question, and reports whether the answer is yes. It asks if --all or a short name selects the leases, and on
// a terminal also if -l or -f selects several.
func (s *selection) confirm(c *console.Console, dryRun string, leases int, question string) bool {
	several := leases > 1 && (s.selector != "" || s.files) && terminal.IsTerminal(c.Stdin)
	if !s.all && !s.short && !several || s.yes || dryRun != "" {
		return true
	}
	return c.Confirm(question)
}
