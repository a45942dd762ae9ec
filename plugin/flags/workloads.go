package flags

import (
	"bytes"
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/akash-net/kubectl-akash-net/apply/command"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/input"
	"github.com/akash-net/kubectl-akash-net/plugin/files"
	"github.com/akash-net/kubectl-akash-net/plugin/usage"
	"github.com/akash-net/kubectl-akash-net/render/workload"
)

// Workloads say whether what leases run is rendered, and with what.
type Workloads struct {
	workloads   bool
	Given       func() bool
	scheduler   string
	ShowSecrets bool
}

// Add adds the flags that all commands have which know of workloads; what is what the command does with them.
func (f *Workloads) Add(cmd *cobra.Command, what string) {
	cmd.Flags().BoolVar(&f.workloads, "workloads", false, what+" the workloads of the leases too: namespaces, Manifests, Deployments, … (default: workloads.enabled of the configuration)")
	f.Given = func() bool { return cmd.Flags().Changed("workloads") }
	cmd.Flags().StringVar(&f.scheduler, "scheduler-params", "", "A file with the scheduler params of a reservation for the only lease, as JSON or YAML, by the ids of resource units")
}

// enabled is what is typed, or what the configuration says.
func (f *Workloads) enabled(cfg *config.ProviderConfig) bool {
	if f.Given() {
		return f.workloads
	}
	return cfg.Workloads.Enabled
}

// Asked is true where the command line asks for what leases run.
func (f *Workloads) Asked() bool { return f.Given() && f.workloads || f.scheduler != "" }

// Options are those of the renderer; nil where what leases run is not rendered.
func (f *Workloads) Options(ctx context.Context, cfg *config.ProviderConfig) (*workload.Options, error) {
	w, _, err := f.Applied(ctx, cfg)
	if w == nil || err != nil {
		return nil, err
	}
	return &workload.Options{Secrets: f.ShowSecrets, Scheduler: w.Scheduler}, nil
}

// params are what a reservation chose, and the text of the file that says it; nil where there is none.
func (f *Workloads) params(ctx context.Context) (params map[uint32]*lease.SchedulerParams, text []byte, err error) {
	if f.scheduler == "" {
		return nil, nil, nil
	}
	err = files.Read(ctx, f.scheduler, func(r io.Reader, name string) (err error) {
		if text, err = io.ReadAll(io.LimitReader(r, maxScheduler+1)); err == nil {
			params, err = ReadParams(text, name)
		}
		return err
	})
	return params, text, err
}

// maxScheduler is how long a file with scheduler params may be, in bytes.
const maxScheduler = 4 << 20

// ReadParams reads scheduler params: what a reservation chose for a lease.
func ReadParams(text []byte, name string) (map[uint32]*lease.SchedulerParams, error) {
	if len(text) > maxScheduler {
		return nil, lease.Problems{{At: lease.Place{File: name, Line: 1, Column: 1}, Message: "scheduler params are longer than 4 MiB"}}
	}
	params, problems, err := input.ReadScheduler(bytes.NewReader(text), name)
	if err == nil && problems.Failed() {
		err = problems.Errors()
	}
	return params, err
}

// Applied says how what the leases run is applied; nil where it is not. The text is that of the scheduler params.
func (f *Workloads) Applied(ctx context.Context, cfg *config.ProviderConfig) (w *command.Workloads, text []byte, err error) {
	if !f.enabled(cfg) {
		if f.scheduler != "" {
			return nil, nil, usage.Errorf("--scheduler-params requires --workloads")
		}
		return nil, nil, nil
	}
	w = &command.Workloads{}
	w.Scheduler, text, err = f.params(ctx)
	return w, text, err
}
