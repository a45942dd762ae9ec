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

// Workloads are the flags of commands that can process the workloads of leases.
type Workloads struct {
	workloads   bool
	Given       func() bool
	scheduler   string
	ShowSecrets bool
}

// Add adds the flags. verb begins the usage text.
func (f *Workloads) Add(cmd *cobra.Command, verb string) {
	cmd.Flags().BoolVar(&f.workloads, "workloads", false,
		verb+" the workloads of the leases too: namespaces, Manifests, Deployments, … (default: workloads.enabled of the "+
			"configuration)")
	f.Given = func() bool { return cmd.Flags().Changed("workloads") }
	cmd.Flags().StringVar(&f.scheduler, "scheduler-params", "",
		"A file with the scheduler params of a reservation for the only lease, as JSON or YAML, by the ids of resource units")
}

// Requested reports whether the command line requests workloads.
func (f *Workloads) Requested() bool { return f.Given() && f.workloads || f.scheduler != "" }

// RenderOptions returns the options for rendering workloads, or nil if neither the flags nor the configuration request them.
func (f *Workloads) RenderOptions(ctx context.Context, cfg *config.ProviderConfig) (*workload.Options, error) {
	w, _, err := f.Load(ctx, cfg)
	if w == nil || err != nil {
		return nil, err
	}
	return &workload.Options{Secrets: f.ShowSecrets, Scheduler: w.Scheduler}, nil
}

// Load returns the options for applying workloads, or nil if neither the flags nor the configuration request them. params is
// the text of the file with scheduler params, if there is one.
func (f *Workloads) Load(ctx context.Context, cfg *config.ProviderConfig) (w *command.Workloads, params []byte, err error) {
	enabled := cfg.Workloads.Enabled
	if f.Given() {
		enabled = f.workloads
	}
	switch {
	case !enabled && f.scheduler != "":
		return nil, nil, usage.Errorf("--scheduler-params requires --workloads")
	case !enabled:
		return nil, nil, nil
	case f.scheduler == "":
		return &command.Workloads{}, nil, nil
	}
	w = &command.Workloads{}
	err = files.Read(ctx, f.scheduler, func(r io.Reader, name string) (err error) {
		if params, err = io.ReadAll(io.LimitReader(r, maxScheduler+1)); err == nil {
			w.Scheduler, err = ReadParams(params, name)
		}
		return err
	})
	return w, params, err
}

// maxScheduler is the maximum size of scheduler params, in bytes.
const maxScheduler = 4 << 20

// ReadParams parses scheduler params: the choices of a reservation for a lease, by resource unit.
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
