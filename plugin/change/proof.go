package change

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/akash-net/kubectl-akash-net/apply/command"
	"github.com/akash-net/kubectl-akash-net/dnsproof"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/plugin/usage"
)

// proofFlags are the flags for the proof of hosts by DNS.
type proofFlags struct {
	// name is the name of the flag that requests proofs, requested its value.
	name      string
	requested bool
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
	f.flags.BoolVar(&f.requested, name, false, usage)
	f.flags.StringSliceVar(&f.resolvers, flagResolver, nil,
		"The name servers to ask, HOST[:PORT], in this order until one answers. By default those of "+dnsproof.SystemConfig)
	f.flags.DurationVar(&f.timeout, flagDNSTimeout, 10*time.Second, "How long to look for the proof of one host")
}

// check validates the flags, and parses the name servers.
func (f *proofFlags) check() error {
	if !f.requested {
		for _, name := range []string{flagResolver, flagDNSTimeout} {
			if f.flags.Changed(name) {
				return usage.Errorf("--%s requires --%s", name, f.name)
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

// prove returns the function that proves hosts, or nil if no proofs are requested.
func (f *proofFlags) prove(cfg *config.ProviderConfig) (command.Prove, error) {
	if !f.requested {
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
