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

// AddIgnoreMissing adds --ignore-not-found.
func AddIgnoreMissing(cmd *cobra.Command, value *bool) {
	cmd.Flags().BoolVar(value, "ignore-not-found", false, "Exit with 0 instead of 1 if something that is named does not exist")
}

// ParseThings parses arguments, each of which must name a thing of one of the kinds.
func ParseThings(args []string, kinds ...thing.Kind) ([]thing.Thing, error) {
	things := make([]thing.Thing, len(args))
	for i, arg := range args {
		t, err := thing.Parse(arg)
		if err != nil {
			return nil, usage.Wrap(err)
		}
		if !slices.Contains(kinds, t.Kind) {
			return nil, usage.Errorf("%s is not what this command takes: %s", t, DescribeKinds(kinds))
		}
		things[i] = t
	}
	return things, nil
}

// DescribeKinds returns the kinds with an example of each, for messages.
func DescribeKinds(kinds []thing.Kind) string {
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

// MissingThings returns a *session.MissingError with a message for each missing thing, or nil if there are none. The first verb of
// format is for the thing.
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
	return &session.MissingError{What: what}
}

// CompleteThings completes things of the kinds that leases hold, and the leases.
func CompleteThings(c *session.Session, kinds ...thing.Kind) cobra.CompletionFunc {
	return CompleteThingsOf(c, lease.Group{}, kinds...)
}

// CompleteThingsOf completes things of the kinds that a deployment group holds. The zero group means all groups.
func CompleteThingsOf(c *session.Session, g lease.Group, kinds ...thing.Kind) cobra.CompletionFunc {
	return c.Complete(func(ctx context.Context, in *cluster.Cluster, cfg *config.ProviderConfig, prefix string) ([]string, error) {
		var out []string
		things, err := observed.HeldThings(ctx, in, cfg.LedgerNamespace, g)
		for _, t := range things {
			name := t.Name()
			if strings.HasPrefix(prefix, string(t.Kind)+"/") {
				name = t.String()
			}
			begins := strings.HasPrefix(name, prefix)
			if t.Kind == thing.Lease {
				name, begins = thing.Complete(t.Group, prefix)
			}
			if slices.Contains(kinds, t.Kind) && begins {
				out = append(out, name)
			}
		}
		slices.Sort(out)
		return slices.Compact(out), err
	})
}

// CompleteOrders completes the orders that have reservations.
func CompleteOrders(c *session.Session) cobra.CompletionFunc {
	return c.Complete(func(ctx context.Context, in *cluster.Cluster, cfg *config.ProviderConfig, prefix string) ([]string, error) {
		var out []string
		claims, err := reservation.New(in, cfg).List(ctx)
		for _, claim := range claims {
			if name := claim.Order.String(); claim.Unreadable == "" && strings.HasPrefix(name, prefix) {
				out = append(out, name)
			}
		}
		slices.Sort(out)
		return out, err
	})
}
