package change

import (
	"bufio"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/akash-net/kubectl-akash-net/plugin/console"
	"github.com/akash-net/kubectl-akash-net/plugin/usage"
)

// selection are the flags of commands whose leases are named, or chosen among all.
type selection struct {
	selector string
	all, yes bool
	// namespace is that of the leases, empty for all.
	namespace string
}

// add adds the flags; verb is what the command does with leases.
func (s *selection) add(cmd *cobra.Command, verb string) {
	cmd.Flags().StringVarP(&s.selector, "selector", "l", "", verb+" the leases whose labels (Akash's, akash.network/lease.id.…) match")
	cmd.Flags().BoolVar(&s.all, "all", false, verb+" all leases, after confirmation")
	cmd.Flags().BoolVarP(&s.yes, "yes", "y", false, "Do not ask")
}

// check refuses several ways to say which leases are meant, and none.
func (s *selection) check(args []string, verb string) error {
	ways := 0
	for _, given := range []bool{len(args) > 0, s.selector != "", s.all} {
		if given {
			ways++
		}
	}
	if ways != 1 {
		return usage.Errorf("name the leases to %s (OWNER/DSEQ/GSEQ), or use one of -l and --all", verb)
	}
	if _, err := labels.Parse(s.selector); err != nil {
		return usage.Errorf("--selector: %w", err)
	}
	return nil
}

// agreed puts a question where all leases are chosen; only yes is a yes.
func (s *selection) agreed(c *console.Console, dryRun, question string) bool {
	if !s.all || s.yes || dryRun != "" {
		return true
	}
	fmt.Fprintf(c.ErrOut, "%s [y/N] ", question)
	line, _ := bufio.NewReader(c.In).ReadString('\n') // no answer is no
	if !strings.HasSuffix(line, "\n") {
		fmt.Fprintln(c.ErrOut) // what follows does not stand behind the question
	}
	answer := strings.ToLower(strings.TrimSpace(line))
	return answer == "y" || answer == "yes"
}
