package show

import (
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/plugin/session"
	"github.com/akash-net/kubectl-akash-net/plugin/terminal"
	"github.com/akash-net/kubectl-akash-net/state/view"
)

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
		fmt.Fprintf(c.ErrOut, "Note: what leases run is not shown, for which the role %s is needed (%s); --workloads=false does without\n", role.Role, terminal.OneLine(role.Message, terminal.MaxCell))
		return show(f.subjects)
	}
	return err
}
