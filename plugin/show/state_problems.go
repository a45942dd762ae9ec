package show

import (
	"context"

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
		return &console.ToldError{What: terminal.Count(len(problems), "problem")}
	}
	return nil
}
