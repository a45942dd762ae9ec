package flags

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/observed"
	"github.com/akash-net/kubectl-akash-net/apply/reservation"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/thing"
	"github.com/akash-net/kubectl-akash-net/plugin/session"
	"github.com/akash-net/kubectl-akash-net/plugin/usage"
)

// MissingError says that something that was named does not exist.
type MissingError struct{ What []string }

func (e *MissingError) Error() string { return strings.Join(e.What, "; ") }

// AddIgnoreMissing adds kubectl's flag.
func AddIgnoreMissing(cmd *cobra.Command, value *bool) {
	cmd.Flags().BoolVar(value, "ignore-not-found", false, "Exit with 0 instead of 1 if something that is named does not exist")
}

// ParseThings reads arguments, of which each must be one of the kinds.
func ParseThings(args []string, kinds ...thing.Kind) ([]thing.Thing, error) {
	things := make([]thing.Thing, len(args))
	for i, arg := range args {
		t, err := thing.Parse(arg)
		if err != nil {
			return nil, usage.Wrap(err)
		}
		if !slices.Contains(kinds, t.Kind) {
			return nil, usage.Errorf("%s is not what this command takes: %s", t, KindsText(kinds))
		}
		things[i] = t
	}
	return things, nil
}

// KindsText tells how things of the kinds are typed.
func KindsText(kinds []thing.Kind) string {
	words := map[thing.Kind]string{
		thing.Host: "a host (host/shop.example.com)", thing.Address: "an address (address/203.0.113.7)",
		thing.Endpoint: "an IP endpoint (endpoint/public)", thing.Lease: "a lease (OWNER/DSEQ/GSEQ)",
		thing.Order: "an order (order/OWNER/DSEQ/GSEQ/OSEQ)",
	}
	texts := make([]string, len(kinds))
	for i, k := range kinds {
		texts[i] = words[k]
	}
	return strings.Join(texts, ", ")
}

// LeaseArgument is an argument or a flag's value that names a lease, with or without the word before it.
func LeaseArgument(text string) string { return thing.TrimKind(text, thing.Lease) }

// MissingThings is an error that names the things that are missing, or nil.
func MissingThings(things []thing.Thing, isMissing func(thing.Thing) bool, format string, args ...any) error {
	var what []string
	for _, t := range things {
		if isMissing(t) {
			what = append(what, fmt.Sprintf(format, append([]any{t}, args...)...))
		}
	}
	if len(what) == 0 {
		return nil
	}
	return &MissingError{What: what}
}

// CompleteThings offers what is held: leases, and with them the hosts and addresses.
func CompleteThings(c *session.Session, kinds ...thing.Kind) cobra.CompletionFunc {
	return CompleteThingsOf(c, lease.Group{}, kinds...)
}

// CompleteThingsOf offers what a deployment group holds; the zero group is all.
func CompleteThingsOf(c *session.Session, g lease.Group, kinds ...thing.Kind) cobra.CompletionFunc {
	return c.Complete(func(ctx context.Context, cluster *cluster.Cluster, cfg *config.ProviderConfig, toComplete string) (out []string, err error) {
		things, err := observed.HeldThings(ctx, cluster, cfg.LedgerNamespace, g)
		for _, t := range things {
			name := t.Name()
			if strings.HasPrefix(toComplete, string(t.Kind)+"/") {
				name = t.String()
			}
			if slices.Contains(kinds, t.Kind) && strings.HasPrefix(name, toComplete) {
				out = append(out, name)
			}
		}
		return out, err
	})
}

// CompleteOrders offers the orders that have reserved something.
func CompleteOrders(c *session.Session) cobra.CompletionFunc {
	return c.Complete(func(ctx context.Context, to *cluster.Cluster, cfg *config.ProviderConfig, toComplete string) (out []string, err error) {
		claims, err := reservation.New(to, cfg).List(ctx)
		for _, claim := range claims {
			if name := claim.Order.String(); claim.Unreadable == "" && strings.HasPrefix(name, toComplete) {
				out = append(out, name)
			}
		}
		slices.Sort(out)
		return out, err
	})
}
