package show

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/leasestatus"
	"github.com/akash-net/kubectl-akash-net/emit"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/thing"
	"github.com/akash-net/kubectl-akash-net/plugin/console"
	"github.com/akash-net/kubectl-akash-net/plugin/flags"
	"github.com/akash-net/kubectl-akash-net/plugin/printing"
	"github.com/akash-net/kubectl-akash-net/plugin/session"
	"github.com/akash-net/kubectl-akash-net/plugin/terminal"
	state "github.com/akash-net/kubectl-akash-net/state/status"
)

// NewLeaseStatus returns the command that prints the status of a lease as the gateway of Akash's provider does.
func NewLeaseStatus(c *session.Session) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "status LEASE [SERVICE]",
		Short: "Print the status of a lease and its services as Akash's gateway does",
		Long: `
			Print the status of a lease or of one of its services as JSON, as the gateway of Akash's provider
			answers it: how many replicas are available, and their hosts, ports and leased addresses.

			The exit code is 1 if nothing runs for the lease, or if it has no such service.`,
		Example: `
			kubectl akash-net status akash1…/8438017/1

			# One service, and all of them as a table
			kubectl akash-net status akash1…/8438017/1 web
			kubectl akash-net status akash1…/8438017/1 -o wide`,
		Args: leaseAndService,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := flags.CheckOneOf("output", output, "json", "yaml", "wide"); err != nil {
				return err
			}
			return leaseStatus(cmd.Context(), c, args, output)
		},
		ValidArgsFunction: completeLeaseService(c),
	}
	flags.AddOutput(cmd, &output, "json", "One of 'json', 'yaml' or 'wide'", "json", "yaml", "wide")
	return c.SetScope(cmd, session.Scope{Leases: session.OneLease})
}

func leaseStatus(ctx context.Context, c *session.Session, args []string, output string) error {
	from, id, err := openLease(ctx, c, args[0], "")
	if err != nil {
		return err
	}
	cfg, err := c.Configuration(ctx, from)
	if err != nil {
		return err
	}
	objects, err := leasestatus.Read(ctx, from, cfg.ManifestNamespace, id)
	if err != nil {
		return err
	}
	if len(args) == 2 {
		s, err := objects.Service(args[1])
		if err != nil {
			return fmt.Errorf("lease %s: %w", id, err)
		}
		return printStatus(&c.Console, s, &state.Lease{Services: map[string]*state.Service{s.Name: s}}, output)
	}
	l, err := objects.Of(cfg.Workloads.PublicHostname)
	if err != nil {
		return fmt.Errorf("nothing runs for lease %s: %w", id, err)
	}
	return printStatus(&c.Console, l, l, output)
}

// printStatus prints the status of a lease or of a service as JSON or YAML, or the lease as a table.
func printStatus(c *console.Console, status any, l *state.Lease, output string) error {
	switch output {
	case "yaml":
		return emit.WriteYAML(c.Out, status)
	case "wide":
		return printStatusTable(c, l)
	}
	return emit.WriteJSON(c.Out, status)
}

func printStatusTable(c *console.Console, l *state.Lease) error {
	table := printing.NewTable("Service", "Available", "Ready", "Updated", "URIs", "Ports", "Addresses")
	for _, name := range slices.Sorted(maps.Keys(l.Services)) {
		s := l.Services[name]
		var ports, ips []string
		for _, p := range l.ForwardedPorts[name] {
			ports = append(ports, fmt.Sprintf("%d:%d/%s", p.Port, p.ExternalPort, p.Proto))
		}
		for _, a := range l.IPs[name] {
			ips = append(ips, fmt.Sprintf("%s %d/%s", a.IP, a.ExternalPort, a.Protocol))
		}
		list := func(items []string) string { return cmp.Or(strings.Join(items, ","), "<none>") }
		table.Row("", name, fmt.Sprintf("%d/%d", s.Available, s.Total), s.ReadyReplicas, s.UpdatedReplicas, list(s.URIs), list(ports), list(ips))
	}
	return table.Print(&terminal.Table{Out: c.Text, Width: terminal.Width(c.Text)}, false)
}

// completeLeaseService completes a lease, then a service of it.
func completeLeaseService(c *session.Session) cobra.CompletionFunc {
	leases := flags.CompleteThings(c, thing.Lease)
	return func(cmd *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
		switch len(args) {
		case 0:
			return leases(cmd, args, toComplete)
		case 1:
			return completeServices(c, args[0])(cmd, args, toComplete)
		}
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
}

// completeServices completes the services of a lease.
func completeServices(c *session.Session, typed string) cobra.CompletionFunc {
	return c.Complete(func(ctx context.Context, from *cluster.Cluster, cfg *config.ProviderConfig, prefix string) ([]string, error) {
		whole, err := c.Lengthen(ctx, typed)
		if err != nil {
			return nil, err
		}
		id, err := flags.FindLease(ctx, from, whole)
		if err != nil {
			return nil, err
		}
		objects, err := leasestatus.Read(ctx, from, cfg.ManifestNamespace, id)
		if err != nil {
			return nil, err
		}
		l, err := objects.Of("")
		if err != nil {
			return nil, err
		}
		names := slices.Sorted(maps.Keys(l.Services))
		return slices.DeleteFunc(names, func(s string) bool { return !strings.HasPrefix(s, prefix) }), nil
	})
}
