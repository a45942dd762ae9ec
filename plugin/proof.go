package plugin

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/printers"

	"github.com/akash-net/kubectl-akash-net/apply"
	"github.com/akash-net/kubectl-akash-net/dnsproof"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/plugin/usage"
)

// proofFlags say whether, and by which name servers, hosts are proved to be their tenant's.
type proofFlags struct {
	// name is the flag that asks for proofs.
	name      string
	wanted    bool
	resolvers []string
	timeout   time.Duration
	flags     *pflag.FlagSet
}

const (
	flagDNS          = "dns"
	flagRequireProof = "require-dns-proof"
	flagResolver     = "resolver"
	flagDNSTimeout   = "dns-timeout"

	proofUsage = "Claim nothing for a lease unless DNS proves that the tenant controls its hosts"
)

func (f *proofFlags) add(cmd *cobra.Command, name, usage string) {
	f.name, f.flags = name, cmd.Flags()
	f.flags.BoolVar(&f.wanted, name, false, usage)
	f.flags.StringSliceVar(&f.resolvers, flagResolver, nil, "The name servers to ask, HOST[:PORT], in this order until one answers. By default those of "+dnsproof.SystemConfig+"")
	f.flags.DurationVar(&f.timeout, flagDNSTimeout, 10*time.Second, "How long to look for the proof of one host")
}

// check refuses flags that make no sense, and reads the name servers.
func (f *proofFlags) check() error {
	if !f.wanted {
		for _, name := range []string{flagResolver, flagDNSTimeout} {
			if f.flags.Changed(name) {
				return usage.Errorf("--%s goes with --%s", name, f.name)
			}
		}
		return nil
	}
	if f.timeout <= 0 {
		return usage.Errorf("--%s must be more than 0", flagDNSTimeout)
	}
	if f.flags.Changed(flagResolver) && len(f.resolvers) == 0 {
		return usage.Errorf("--%s names no name server", flagResolver)
	}
	for i, text := range f.resolvers {
		server, err := dnsproof.ParseServer(text)
		if err != nil {
			return usage.Errorf("--%s: %w", flagResolver, err)
		}
		f.resolvers[i] = server
	}
	return nil
}

// prove is how hosts are proved; nil where no proofs are wanted.
func (f *proofFlags) prove(cfg *config.ProviderConfig) (apply.Prove, error) {
	if !f.wanted {
		return nil, nil
	}
	servers := f.resolvers
	if len(servers) == 0 {
		var err error
		if servers, err = dnsproof.SystemServers(dnsproof.SystemConfig); err != nil {
			return nil, fmt.Errorf("%w; name one with --%s", err, flagResolver)
		}
	}
	prover := &dnsproof.Prover{Servers: servers, Domain: cfg.Ingress.Domain, Timeout: f.timeout}
	return prover.Prove, nil
}

// printUnproved lists what was asked for each host and what came back, and the records to make.
func (c *console) printUnproved(e *apply.UnprovedError) {
	hosts := make([]string, len(e.Hosts))
	for i, h := range e.Hosts {
		hosts[i] = h.Host
	}
	verb := "is"
	if len(hosts) > 1 {
		verb = "are"
	}
	fmt.Fprintf(c.ErrOut, "Error: %s %s not proved to belong to %s\n\n", strings.Join(hosts, ", "), verb, e.Lease.Owner)
	w := printers.GetNewTabWriter(c.ErrOut)
	fmt.Fprintf(w, "  HOST\tASKED FOR\tOF\tANSWER\n")
	var records []string
	for _, h := range e.Hosts {
		why, ok := errors.AsType[*dnsproof.Unproved](h.Err)
		if !ok {
			fmt.Fprintf(w, "  %s\t-\t-\t%v\n", h.Host, h.Err)
			continue
		}
		for _, x := range why.Asked {
			fmt.Fprintf(w, "  %s\t%s %s\t%s\t%s\n", h.Host, x.Type, x.Name, x.Server, x.Answer)
		}
		if why.Note != "" {
			fmt.Fprintf(w, "  %s\t-\t-\t%s\n", h.Host, why.Note)
		}
		if len(why.Records) > 0 {
			records = append(records, "  "+strings.Join(why.Records, "\n  or  "))
		}
	}
	_ = w.Flush() // to stderr
	if len(records) > 0 {
		fmt.Fprintf(c.ErrOut, "\nThe tenant can prove it with these DNS records:\n%s\n", strings.Join(records, "\n"))
	}
	fmt.Fprintf(c.ErrOut, "\nNothing was changed for lease %s.\n", e.Lease)
}
