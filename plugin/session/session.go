// Package session is what every command is given: a console, the cluster that the kubectl flags describe, and the
// provider's configuration.
package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/plugin/console"
	"github.com/akash-net/kubectl-akash-net/plugin/usage"
	"github.com/akash-net/kubectl-akash-net/plugin/version"
)

// Session is what all commands share: a console, the cluster that the kubectl flags describe, and the provider's
// configuration.
type Session struct {
	console.Console
	flags *genericclioptions.ConfigFlags
	// ConfigFile is the provider's configuration, where it does not come from the cluster.
	ConfigFile string
	// scopes say of each command what the flags mean to it that all commands take.
	scopes map[*cobra.Command]Scope
}

// New is a session of a process with the streams. Commands are added to its root.
func New(ctx context.Context, streams genericiooptions.IOStreams) *Session {
	c := &Session{Console: console.New(ctx, streams)}
	c.flags = genericclioptions.NewConfigFlags(true).WithWarningPrinter(c.IOStreams)
	c.flags.CacheDir = nil // nothing is cached
	return c
}

// AddFlags adds the flags that all commands take.
func (c *Session) AddFlags(root *cobra.Command) {
	c.flags.AddFlags(root.PersistentFlags())
	root.PersistentFlags().StringVar(&c.ConfigFile, "config", "", "File with the provider's configuration, instead of the cluster's ConfigMap")
	c.completeConnection(root)
}

// Begin notes what the command line asks for, and refuses flags that would be ignored.
func (c *Session) Begin(cmd *cobra.Command, args []string) error {
	dry := cmd.Flags().Lookup("dry-run")                                                        // of each command that writes
	claims := cmd.Name() == "apply" || cmd.Name() == "reserve" && !cmd.Flags().Changed("order") // "release" undoes leases
	c.Console.Begin(dry == nil || dry.Value.String() != "none", claims)
	return c.checkScope(cmd, args)
}

// Connect makes the connection that the kubectl flags describe.
func (c *Session) Connect(concurrency int) (*cluster.Cluster, error) {
	rest, err := c.flags.ToRESTConfig()
	if clientcmd.IsEmptyConfig(err) || err == nil && c.noCluster(rest.Host) {
		return nil, errors.New("no cluster is configured; name a kubeconfig with --kubeconfig or KUBECONFIG, or one of its contexts with --context")
	}
	if err != nil {
		return nil, fmt.Errorf("the kubeconfig cannot be used: %w", err)
	}
	rest.UserAgent = "kubectl-akash_net/" + version.Of().Version
	return cluster.Connect(rest, concurrency)
}

// Open connects to the cluster and reads the provider's configuration.
func (c *Session) Open(ctx context.Context, concurrency int) (*cluster.Cluster, *config.ProviderConfig, error) {
	to, err := c.Connect(concurrency)
	if err != nil {
		return nil, nil, err
	}
	cfg, err := c.Configuration(ctx, to)
	return to, cfg, err
}

// noCluster is true when the host is not the user's choice but the one that kubectl falls back to.
func (c *Session) noCluster(host string) bool {
	raw, err := c.flags.ToRawKubeConfigLoader().RawConfig()
	return err == nil && len(raw.Clusters) == 0 && *c.flags.APIServer == "" && os.Getenv("KUBERNETES_MASTER") == "" &&
		host == clientcmd.ClusterDefaults.Server
}

// Configuration is the provider's: of the file that --config names, else of the cluster's
// ConfigMap, else the defaults. Without a cluster the ConfigMap is not looked for.
func (c *Session) Configuration(ctx context.Context, cluster *cluster.Cluster) (*config.ProviderConfig, error) {
	switch {
	case c.ConfigFile != "":
		f, err := os.Open(c.ConfigFile)
		if err != nil {
			return nil, usage.Errorf("--config: %w", err)
		}
		defer f.Close() //nolint:errcheck // only read
		return c.readConfig(f, c.ConfigFile)
	case cluster != nil:
		text, place, err := cluster.Config(ctx)
		if err != nil {
			return nil, err
		}
		if text != "" {
			return c.readConfig(strings.NewReader(text), place)
		}
	}
	return config.Default(), nil
}

// Complete offers what the cluster tells within a second; nothing where it does not.
func (c *Session) Complete(offer func(ctx context.Context, cluster *cluster.Cluster, cfg *config.ProviderConfig, toComplete string) ([]string, error)) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, toComplete string) ([]string, cobra.ShellCompDirective) {
		ctx, cancel := context.WithTimeout(cmd.Context(), time.Second)
		defer cancel()
		cluster, cfg, err := c.Open(ctx, Requests)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		out, err := offer(ctx, cluster, cfg, toComplete)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return out, cobra.ShellCompDirectiveNoFileComp
	}
}

func (c *Session) readConfig(r io.Reader, name string) (*config.ProviderConfig, error) {
	cfg, problems, err := config.Read(r, name)
	if err != nil {
		return nil, err
	}
	c.Warn(problems)
	if errs := problems.Errors(); len(errs) > 0 {
		return nil, errs
	}
	return cfg, nil
}

// Requests is how many requests of state are under way at a time: more than it has lists.
const Requests = 8
