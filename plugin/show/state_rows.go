package show

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/diagnosis"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/plugin/console"
	"github.com/akash-net/kubectl-akash-net/plugin/printing"
	"github.com/akash-net/kubectl-akash-net/plugin/session"
	"github.com/akash-net/kubectl-akash-net/plugin/terminal"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/view"
)

// filter keeps the rows that --selector, --namespace, --shard and names choose.
func (f *stateFlags) filter(book *view.Book) {
	if !f.matches.Empty() || f.namespace != "" {
		book.Select(f.matches, f.namespace)
	}
	if f.shard != "" {
		book.SelectShard(f.shard)
	}
	f.choose(book)
}

// nothing says of a subject that its table would be empty.
var nothing = map[view.Subject]string{
	view.SubjectHosts:  "No hosts held.",
	view.SubjectIPs:    "No addresses leased.",
	view.SubjectLeases: "No leases hold anything.",
	view.SubjectPools:  "No pools.",
	view.SubjectRoutes: "No routes.",
	view.SubjectDNS:    "No DNS records.",

	view.SubjectResources: "No resources.",
	view.SubjectOrders:    "No orders have reserved anything.",
}

// tellEmpty says that there is nothing to show, where people look for rows.
func (f *stateFlags) tellEmpty(c *console.Console, book *view.Book) {
	switch {
	case !book.Empty() || !f.print.IsTable() || len(f.things) > 0:
	case len(f.subjects) == 1:
		fmt.Fprintln(c.ErrOut, nothing[f.subjects[0]])
	default:
		fmt.Fprintln(c.ErrOut, "Nothing is held.")
	}
}

// runsFlag says whether leases tell how far what they run is.
type runsFlag struct {
	asked bool
	given func() bool
}

func (f *runsFlag) add(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.asked, "workloads", false, "Show the state of the workloads of leases (default: workloads.enabled of the configuration)")
	f.given = func() bool { return cmd.Flags().Changed("workloads") }
}

// withWorkloads shows the subjects, and what leases run if that is asked for. Where the configuration alone asks for it, and
// the user may not read it, a note says so and the rest is shown: who only looks at names needs no right to look at pods.
func (f *stateFlags) withWorkloads(c *session.Session, cfg *config.ProviderConfig, show func([]view.Subject) error) error {
	wanted := f.workloads.asked || !f.workloads.given() && cfg.Workloads.Enabled
	if !wanted || !slices.Contains(f.subjects, view.SubjectLeases) {
		return show(f.subjects)
	}
	err := show(append(slices.Clone(f.subjects), view.SubjectWorkloads))
	if role, refused := errors.AsType[*cluster.RoleError](err); refused && !f.workloads.given() {
		fmt.Fprintf(c.ErrOut, "Note: workloads are not shown: the role %s is required (%s). Use --workloads=false to hide this note\n", role.Role, terminal.OneLine(role.Message, terminal.MaxCell))
		return show(f.subjects)
	}
	return err
}

// showProblems shows what is wrong, and ends with exit code 1 if anything is.
func (f *stateFlags) showProblems(ctx context.Context, c *session.Session, cluster *cluster.Cluster, cfg *config.ProviderConfig, show printing.Printer) error {
	problems, err := diagnosis.Problems(ctx, cluster, cfg, f.crashedAfter, f.namespace)
	if err != nil {
		return err
	}
	book := &view.Book{APIVersion: lease.Domain + "/v1alpha1", Kind: "Book", Problems: problems}
	if len(problems) == 0 {
		book.Problems = []state.Problem{}
		if f.print.IsTable() {
			c.NoProblems()
		}
	}
	if err := show(book); err != nil {
		return err
	}
	if len(problems) > 0 {
		return &console.ReportedError{What: terminal.Count(len(problems), "problem")}
	}
	return nil
}
