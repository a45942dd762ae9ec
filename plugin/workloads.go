package plugin

import (
	"bytes"
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/akash-net/kubectl-akash-net/apply"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/input"
	"github.com/akash-net/kubectl-akash-net/plugin/files"
	"github.com/akash-net/kubectl-akash-net/plugin/usage"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/render/workload"
)

// workloadFlags say whether what leases run is rendered, and with what.
type workloadFlags struct {
	workloads   bool
	given       func() bool
	scheduler   string
	showSecrets bool
}

// add adds the flags that all commands have which know of workloads; what is what the command does with them.
func (f *workloadFlags) add(cmd *cobra.Command, what string) {
	cmd.Flags().BoolVar(&f.workloads, "workloads", false, what+" the workloads of the leases too: namespaces, Manifests, Deployments, … (default: workloads.enabled of the configuration)")
	f.given = func() bool { return cmd.Flags().Changed("workloads") }
	cmd.Flags().StringVar(&f.scheduler, "scheduler-params", "", "A file with the scheduler params of a reservation for the only lease, as JSON or YAML, by the ids of resource units")
}

func addShowSecrets(cmd *cobra.Command, into *bool) {
	cmd.Flags().BoolVar(into, "show-secrets", false, "Print the passwords of registries; otherwise they are omitted, with a warning on standard error")
}

// enabled is what is typed, or what the configuration says.
func (f *workloadFlags) enabled(cfg *config.ProviderConfig) bool {
	if f.given() {
		return f.workloads
	}
	return cfg.Workloads.Enabled
}

// options are those of the renderer; nil where what leases run is not rendered.
func (f *workloadFlags) options(ctx context.Context, cfg *config.ProviderConfig) (*workload.Options, error) {
	if !f.enabled(cfg) {
		if f.scheduler != "" {
			return nil, usage.Errorf("--scheduler-params goes with --workloads")
		}
		return nil, nil
	}
	params, _, err := f.params(ctx)
	return &workload.Options{Secrets: f.showSecrets, Scheduler: params}, err
}

// params are what a reservation chose, and the text of the file that says it; nil where there is none.
func (f *workloadFlags) params(ctx context.Context) (params map[uint32]*lease.SchedulerParams, text []byte, err error) {
	if f.scheduler == "" {
		return nil, nil, nil
	}
	err = files.Read(ctx, f.scheduler, func(r io.Reader, name string) (err error) {
		if text, err = io.ReadAll(io.LimitReader(r, maxScheduler+1)); err == nil {
			params, err = readParams(text, name)
		}
		return err
	})
	return params, text, err
}

// maxScheduler is how long a file with scheduler params may be, in bytes.
const maxScheduler = 4 << 20

func readParams(text []byte, name string) (map[uint32]*lease.SchedulerParams, error) {
	if len(text) > maxScheduler {
		return nil, lease.Problems{{At: lease.Place{File: name, Line: 1, Column: 1}, Message: "scheduler params are longer than 4 MiB"}}
	}
	params, problems, err := input.ReadScheduler(bytes.NewReader(text), name)
	if err == nil && problems.Failed() {
		err = problems.Errors()
	}
	return params, err
}

// applied says how what the leases run is applied; nil where it is not. The text is that of the scheduler params.
func (f *workloadFlags) applied(ctx context.Context, cfg *config.ProviderConfig) (w *apply.Workloads, text []byte, err error) {
	if !f.enabled(cfg) {
		if f.scheduler != "" {
			return nil, nil, usage.Errorf("--scheduler-params goes with --workloads")
		}
		return nil, nil, nil
	}
	w = &apply.Workloads{}
	w.Scheduler, text, err = f.params(ctx)
	return w, text, err
}

// checkOne refuses scheduler params for more than one lease: they do not say whose they are.
func checkOne(w *apply.Workloads, defs []*lease.Definition) error {
	if w == nil || w.Scheduler == nil || len(defs) < 2 {
		return nil
	}
	return lease.Problems{{At: defs[1].At, Message: "--scheduler-params is for one lease, and this is another"}}
}

// withWorkloads puts what a lease runs before its routes, and notes the Secrets that are left out.
func (r *renderer) withWorkloads(routes []render.Object, def *lease.Definition) ([]render.Object, error) {
	if r.workloads == nil {
		return routes, nil
	}
	if r.ran++; r.ran > 1 && r.workloads.Scheduler != nil {
		r.problems.Add(def.At, "--scheduler-params is for one lease, and this is another")
		return nil, nil
	}
	rendered, err := workload.Lease(def, r.cfg, *r.workloads)
	for _, left := range rendered.Left {
		message := fmt.Sprintf("secret/%s of namespace %s is left out, and the password in its Manifest: --show-secrets prints them", left.Name, def.Lease.Namespace())
		if left.NoPassword {
			message = fmt.Sprintf("secret/%s of namespace %s is left out: the definition has no password for it", left.Name, def.Lease.Namespace())
		}
		r.left = append(r.left, lease.Problem{At: left.At, Message: message, Warning: true})
	}
	if err != nil {
		return nil, err
	}
	objects := append(rendered.Objects, routes...)
	return objects, render.CheckNames(objects, def.At)
}

// warnings are what a user should know of what was rendered for the lease.
func (r *renderer) warnings(def *lease.Definition) lease.Problems {
	left := r.left
	r.left = nil
	return append(render.Warnings(def, r.cfg), left...)
}
