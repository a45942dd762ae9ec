package plugin

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/plugin/usage"
	"github.com/akash-net/kubectl-akash-net/plugin/version"
	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"
)

// session is what all commands share: a console, the cluster that the kubectl flags describe, and the provider's
// configuration.
type session struct {
	console
	flags *genericclioptions.ConfigFlags
	// configFile is the provider's configuration, where it does not come from the cluster.
	configFile string
	// scopes say of each command what the flags mean to it that all commands take.
	scopes map[*cobra.Command]scope
}

// newSession is a session of a process with the streams. Commands are added to its root.
func newSession(ctx context.Context, streams genericiooptions.IOStreams) *session {
	c := &session{console: newConsole(ctx, streams)}
	c.flags = genericclioptions.NewConfigFlags(true).WithWarningPrinter(c.IOStreams)
	c.flags.CacheDir = nil // nothing is cached
	return c
}

// addFlags adds the flags that all commands take.
func (c *session) addFlags(root *cobra.Command) {
	c.flags.AddFlags(root.PersistentFlags())
	root.PersistentFlags().StringVar(&c.configFile, "config", "", "File with the provider's configuration, instead of the cluster's ConfigMap")
}

// begin notes what the command line asks for, and refuses flags that would be ignored.
func (c *session) begin(cmd *cobra.Command, args []string) error {
	dry := cmd.Flags().Lookup("dry-run") // of each command that writes
	claims := cmd.Name() == "apply" || cmd.Name() == "reserve" && !cmd.Flags().Changed("order") // "release" undoes leases
	c.console.begin(dry == nil || dry.Value.String() != "none", claims)
	return c.checkScope(cmd, args)
}

// connect makes the connection that the kubectl flags describe.
func (c *session) connect(concurrency int) (*cluster.Cluster, error) {
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

// open connects to the cluster and reads the provider's configuration.
func (c *session) open(ctx context.Context, concurrency int) (*cluster.Cluster, *config.ProviderConfig, error) {
	to, err := c.connect(concurrency)
	if err != nil {
		return nil, nil, err
	}
	cfg, err := c.configuration(ctx, to)
	return to, cfg, err
}

// noCluster is true when the host is not the user's choice but the one that kubectl falls back to.
func (c *session) noCluster(host string) bool {
	raw, err := c.flags.ToRawKubeConfigLoader().RawConfig()
	return err == nil && len(raw.Clusters) == 0 && *c.flags.APIServer == "" && os.Getenv("KUBERNETES_MASTER") == "" &&
		host == clientcmd.ClusterDefaults.Server
}

// configuration is the provider's: of the file that --config names, else of the cluster's
// ConfigMap, else the defaults. Without a cluster the ConfigMap is not looked for.
func (c *session) configuration(ctx context.Context, cluster *cluster.Cluster) (*config.ProviderConfig, error) {
	switch {
	case c.configFile != "":
		f, err := os.Open(c.configFile)
		if err != nil {
			return nil, usage.Errorf("--config: %w", err)
		}
		defer f.Close() //nolint:errcheck // only read
		return c.readConfig(f, c.configFile)
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
