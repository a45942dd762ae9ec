package show

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/leaselogs"
	"github.com/akash-net/kubectl-akash-net/apply/leasestatus"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/thing"
	"github.com/akash-net/kubectl-akash-net/plugin/console"
	"github.com/akash-net/kubectl-akash-net/plugin/flags"
	"github.com/akash-net/kubectl-akash-net/plugin/printing"
	"github.com/akash-net/kubectl-akash-net/plugin/session"
	"github.com/akash-net/kubectl-akash-net/plugin/terminal"
	"github.com/akash-net/kubectl-akash-net/plugin/usage"
	state "github.com/akash-net/kubectl-akash-net/state/status"
)

// logFlags are the flags of logs. They have the meaning of those of "kubectl logs".
type logFlags struct {
	leaselogs.Options
	prefix    bool
	tail      int64
	since     time.Duration
	sinceTime string
}

// NewLogs returns the command that prints the logs of a lease's containers.
func NewLogs(c *session.Session) *cobra.Command {
	f := &logFlags{}
	cmd := &cobra.Command{
		Use:   "logs LEASE [SERVICE]",
		Short: "Print the logs of the containers of a lease",
		Args:  leaseAndService,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 2 {
				if cmd.Flags().Changed("service") || cmd.Flags().Changed("container") {
					return usage.Errorf("the service is named twice: name it after the lease, or with --service or --container")
				}
				f.Service = args[1]
			}
			if err := f.complete(cmd); err != nil {
				return err
			}
			return logs(cmd.Context(), c, args[0], f)
		},
		ValidArgsFunction: completeLeaseService(c),
	}
	flags := cmd.Flags()
	addService(c, cmd, "service", "", "Only this service of the lease", &f.Service)
	addService(c, cmd, "container", "c", "Only this container: a service's has its name", &f.Service)
	flags.BoolVarP(&f.Pod.Follow, "follow", "f", false, "Continue with new lines, and with pods that start later")
	flags.Int64Var(&f.tail, "tail", 10, "The number of last lines of each container; -1 for all")
	flags.DurationVar(&f.since, "since", 0, "Only lines newer than a duration, such as 5s, 2m or 3h")
	flags.StringVar(&f.sinceTime, "since-time", "", "Only lines newer than a time (RFC 3339)")
	flags.BoolVar(&f.Pod.Timestamps, "timestamps", false, "Begin each line with its time")
	flags.BoolVarP(&f.Pod.Previous, "previous", "p", false, "Print the logs of containers before their restart")
	flags.BoolVar(&f.prefix, "prefix", false,
		"Begin each line with its pod and container (default: if there are several containers)")
	flags.IntVar(&f.Streams, "max-log-requests", 5, "The maximum number of containers to follow at a time")
	return c.SetScope(cmd, session.Scope{Leases: session.OneLease, Unconfigured: true})
}

// leaseAndService are the arguments of commands on a lease, and maybe on a service of it.
var leaseAndService = flags.Args(1, 2, "name a lease (OWNER/DSEQ/GSEQ), and of its services one or none")

// addService adds a flag that names a service.
func addService(c *session.Session, cmd *cobra.Command, name, short, what string, into *string) {
	cmd.Flags().StringVarP(into, name, short, "", what)
	complete := func(cmd *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
		if len(args) == 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return completeServices(c, args[0])(cmd, args, toComplete)
	}
	_ = cmd.RegisterFlagCompletionFunc(name, complete)
}

// complete validates the flags and sets the options.
func (f *logFlags) complete(cmd *cobra.Command) error {
	switch {
	case f.since < 0:
		return usage.Errorf("--since is how long ago, and not %s", f.since)
	case f.tail < -1:
		return usage.Errorf("--tail is a number of lines, or -1 for all")
	case f.Streams < 1 || f.Streams > math.MaxInt16:
		return usage.Errorf("--max-log-requests is a number of containers, from 1 to %d", math.MaxInt16)
	}
	if f.since != 0 {
		f.Pod.SinceSeconds = new(int64(math.Ceil(f.since.Seconds())))
	}
	if f.sinceTime != "" {
		at, err := time.Parse(time.RFC3339, f.sinceTime)
		if err != nil {
			return usage.Errorf("--since-time: %q is not a time such as 2026-01-31T12:00:00Z", f.sinceTime)
		}
		f.Pod.SinceTime = new(metav1.NewTime(at))
	}
	if f.tail >= 0 {
		f.Pod.TailLines = &f.tail
	}
	if cmd.Flags().Changed("prefix") {
		f.Prefix = &f.prefix
	}
	return nil
}

func logs(ctx context.Context, c *session.Session, typed string, f *logFlags) error {
	from, id, err := openLease(ctx, c, typed, f.Service)
	if err != nil {
		return err
	}
	err = leaselogs.Stream(ctx, from, id, f.Options, c.Out, func(note string) {
		fmt.Fprintln(c.ErrOut, terminal.OneLine(note, terminal.MaxCell))
	})
	if _, many := errors.AsType[*leaselogs.TooManyError](err); many {
		return usage.Wrap(err)
	}
	if errors.Is(err, leaselogs.ErrNoPods) {
		return noPods(id, f.Service)
	}
	if errors.Is(err, leaselogs.ErrNoService) {
		return fmt.Errorf("lease %s: %w", id, err)
	}
	return err
}

// openLease validates the names of a lease and of a service, which may be "", connects to the cluster and finds the lease. It
// does not read the provider's configuration.
func openLease(ctx context.Context, c *session.Session, typed, service string) (*cluster.Cluster, lease.ID, error) {
	if _, err := thing.ParseLease(typed); err != nil {
		return nil, lease.ID{}, usage.Wrap(err)
	}
	if wrong := validation.IsValidLabelValue(service); len(wrong) > 0 {
		return nil, lease.ID{}, usage.Errorf("%q is not the name of a service", lease.Clip(service))
	}
	from, err := c.Connect(session.Requests)
	if err != nil {
		return nil, lease.ID{}, err
	}
	id, err := flags.FindLease(ctx, from, typed)
	return from, id, err
}

// noPods returns the error for a lease, or a service of it, without pods.
func noPods(id lease.ID, service string) error {
	if service != "" {
		return fmt.Errorf("service %s of lease %s has no pods", service, id)
	}
	return fmt.Errorf("lease %s has no pods", id)
}

// NewLeaseStatus returns the command that prints the status of a lease as the gateway of Akash's provider does.
func NewLeaseStatus(c *session.Session) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "status LEASE [SERVICE]",
		Short: "Print the status of a lease and its services as Akash's gateway does",
		Args:  leaseAndService,
		RunE: func(cmd *cobra.Command, args []string) error {
			return leaseStatus(cmd.Context(), c, args, output)
		},
		ValidArgsFunction: completeLeaseService(c),
	}
	flags.AddOutput(cmd, &output, "json", "", "json", "yaml", "wide")
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
	if done, err := flags.Document(c.Out, output, status); done {
		return err
	}
	return printStatusTable(c, l)
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
	return c.Complete(func(ctx context.Context, from *cluster.Cluster, cfg *config.ProviderConfig, _ string) ([]string, error) {
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
		return slices.Collect(maps.Keys(l.Services)), nil
	})
}
