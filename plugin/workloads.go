package plugin

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/input"
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

func (f *workloadFlags) add(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.workloads, "workloads", false, "Print what the leases run too: their namespaces, Manifests, Deployments, … (default: what workloads.enabled of the configuration says)")
	f.given = func() bool { return cmd.Flags().Changed("workloads") }
	cmd.Flags().StringVar(&f.scheduler, "scheduler-params", "", "A file with what a reservation chose for the one lease: scheduler params, as JSON or YAML, by the ids of resource units")
	addShowSecrets(cmd, &f.showSecrets)
}

func addShowSecrets(cmd *cobra.Command, into *bool) {
	cmd.Flags().BoolVar(into, "show-secrets", false, "Print the passwords of registries; without it they are left out, and named on standard error")
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
			return nil, usage("--scheduler-params goes with --workloads")
		}
		return nil, nil
	}
	opt := &workload.Options{Secrets: f.showSecrets}
	if f.scheduler == "" {
		return opt, nil
	}
	var problems lease.Problems
	err := readFile(ctx, f.scheduler, func(r io.Reader, name string) error {
		var err error
		opt.Scheduler, problems, err = input.ReadScheduler(r, name)
		return err
	})
	if err == nil && problems.Failed() {
		err = problems.Errors()
	}
	return opt, err
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
