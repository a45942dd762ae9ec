// Package session has what all commands share: the console, the connection that kubectl's flags describe, and the
// provider's configuration.
package session

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/klog/v2"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/ledger"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/document"
	"github.com/akash-net/kubectl-akash-net/lease/files"
	"github.com/akash-net/kubectl-akash-net/lease/lazy"
	"github.com/akash-net/kubectl-akash-net/plugin/console"
	"github.com/akash-net/kubectl-akash-net/plugin/usage"
	"github.com/akash-net/kubectl-akash-net/plugin/version"
)

// Session is one run of the program.
type Session struct {
	console.Console
	flags *genericclioptions.ConfigFlags
	// ConfigFile is the file with the provider's configuration; empty to read the cluster's ConfigMap.
	ConfigFile string
	// ConfigText is what Configuration has read from ConfigFile.
	ConfigText string
	scopes     map[*cobra.Command]Scope
	verbosity  int
	// reads is true for a command that writes nothing.
	reads bool
	room  []byte
}

// New returns a session with these streams.
func New(ctx context.Context, streams genericiooptions.IOStreams) *Session {
	c := &Session{Console: console.New(ctx, streams)}
	c.flags = genericclioptions.NewConfigFlags(true).WithWarningPrinter(c.IOStreams)
	c.flags.CacheDir = nil // nothing is cached
	return c
}

// Room lets a command have 16 MiB more of garbage before that is collected: most commands end before. It takes no memory, since nobody touches it.
func (c *Session) Room() { c.room = make([]byte, 16<<20) }

// AddFlags adds the flags that all commands inherit.
func (c *Session) AddFlags(root *cobra.Command) {
	c.flags.AddFlags(root.PersistentFlags())
	root.PersistentFlags().StringVar(&c.ConfigFile, "config", "",
		"File with the provider's configuration, instead of the cluster's ConfigMap")
	c.addVerbosity(root.PersistentFlags())
	c.completeConnection(root)
}

// Begin starts a command whose flags have been parsed. It refuses flags that the command would ignore.
func (c *Session) Begin(cmd *cobra.Command, args []string) error {
	dryRun := cmd.Flags().Lookup("dry-run") // every command that writes has it
	c.reads = dryRun == nil && cmd.Name() != "edit"
	logTo(c.ErrOut, c.verbosity)
	c.Console.Begin(dryRun == nil || dryRun.Value.String() != "none", c.scopes[cmd].Claims)
	return cmp.Or(c.checkScope(cmd, args), checkFlags(cmd))
}

// REST returns the connection that kubectl's flags describe.
func (c *Session) REST() (*rest.Config, error) {
	to, err := c.flags.ToRESTConfig()
	if clientcmd.IsEmptyConfig(err) || err == nil && c.noCluster(to.Host) {
		return nil, errors.New("no cluster is configured; name a kubeconfig with --kubeconfig or KUBECONFIG, or one of its " +
			"contexts with --context")
	}
	if err != nil {
		return nil, fmt.Errorf("the kubeconfig cannot be used: %w", err)
	}
	to.UserAgent = "kubectl-akash_net/" + version.Of().Version
	return to, nil
}

// Connect connects to the cluster that kubectl's flags describe.
func (c *Session) Connect(concurrency int) (*cluster.Cluster, error) {
	to, err := c.REST()
	if err != nil {
		return nil, err
	}
	connected, err := cluster.Connect(to, concurrency)
	if err == nil {
		connected.Reads = c.reads
	}
	return connected, err
}

// Open connects to the cluster and reads the provider's configuration.
func (c *Session) Open(ctx context.Context, concurrency int) (*cluster.Cluster, *config.ProviderConfig, error) {
	to, err := c.Connect(concurrency)
	if err != nil {
		return nil, nil, err
	}
	cfg, err := c.Configuration(ctx, to)
	if err == nil {
		c.Record(ctx, to, cfg.LedgerNamespace)
	}
	return to, cfg, err
}

// noCluster reports whether host is only kubectl's default, because the user has not named a cluster.
func (c *Session) noCluster(host string) bool {
	raw, err := c.flags.ToRawKubeConfigLoader().RawConfig()
	return err == nil && len(raw.Clusters) == 0 && *c.flags.APIServer == "" && os.Getenv("KUBERNETES_MASTER") == "" &&
		host == clientcmd.ClusterDefaults.Server
}

// Configuration returns the provider's configuration from the file of --config, otherwise from the cluster's ConfigMap,
// otherwise the defaults. A nil cluster has no ConfigMap.
func (c *Session) Configuration(ctx context.Context, cluster *cluster.Cluster) (*config.ProviderConfig, error) {
	cfg, _, err := c.Configured(ctx, cluster)
	return cfg, err
}

// Configured is Configuration, and returns the document that was read.
func (c *Session) Configured(ctx context.Context, cluster *cluster.Cluster) (cfg *config.ProviderConfig, read Document, err error) {
	switch {
	case c.ConfigFile != "":
		err = c.ReadConfigFile(ctx)
		read = Document{c.ConfigText, c.ConfigFile}
	case cluster != nil:
		read.Text, read.Place, err = cluster.Config(ctx)
	}
	if err == nil {
		cfg, err = c.ReadConfig(read)
	}
	if cfg != nil && c.ConfigFile == "" && read.Text == "" {
		cfg.Missing = missing(ctx, cluster, cfg.LedgerNamespace, read.Place)
	}
	if _, wrong := errors.AsType[lease.Problems](err); wrong && c.ConfigFile == "" {
		fmt.Fprintln(c.ErrOut, "Note: the provider's configuration in the cluster has errors. \"kubectl akash-net config edit\" opens it, "+
			"\"kubectl akash-net install --config FILE\" replaces it; until then --config FILE names another one.")
	}
	return cfg, read, err
}

// missing says that a cluster has no configuration. Where the ledger is lost, install alone would make one without the provider's ranges.
func missing(ctx context.Context, cluster *cluster.Cluster, namespace, place string) string {
	if cluster == nil {
		return ""
	}
	if lost := ledger.New(cluster, namespace).Lost(ctx); lost != nil {
		return lost.Error()
	}
	return fmt.Sprintf("the cluster has no configuration (%s); create it with: kubectl akash-net install", place)
}

// Document is the text of a configuration. It is empty where the defaults apply.
type Document struct{ Text, Place string }

// ReadConfig reads a configuration and prints its warnings. The errors in it are a lease.Problems.
func (c *Session) ReadConfig(d Document) (*config.ProviderConfig, error) {
	cfg, problems, err := config.Read(strings.NewReader(d.Text), d.Place)
	if err != nil {
		return nil, err
	}
	c.Warn(problems)
	if errs := problems.Errors(); len(errs) > 0 {
		return nil, errs
	}
	return cfg, nil
}

// Complete returns a completion function that reads the cluster, and offers what begins as the word does. It completes nothing if that
// fails or takes a second.
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
		return matching(out, toComplete), cobra.ShellCompDirectiveNoFileComp
	}
}

// matching returns the words that begin with what was typed, sorted, each once.
func matching(words []string, typed string) []string {
	slices.Sort(words)
	return slices.Compact(slices.DeleteFunc(words, func(word string) bool { return !strings.HasPrefix(word, typed) }))
}

// ReadConfigFile reads the file of --config into ConfigText, once: it may be a pipe, which a second read finds empty.
func (c *Session) ReadConfigFile(ctx context.Context) error {
	if c.ConfigText != "" {
		return nil
	}
	f, err := files.Open(ctx, c.ConfigFile)
	if _, ok := errors.AsType[*fs.PathError](err); ok {
		return usage.Errorf("--config: %w", err)
	}
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // only read
	text, err := io.ReadAll(io.LimitReader(files.Interruptible(ctx, f), document.DefaultSize+1))
	if err == nil && len(text) > document.DefaultSize {
		err = fmt.Errorf("%s: it is longer than %d bytes", c.ConfigFile, document.DefaultSize)
	}
	c.ConfigText = string(text)
	return err
}

// Requests is the maximum number of concurrent requests of commands without --concurrency. It exceeds the number of lists
// that any of them reads.
const Requests = 8

// Scope says which inherited flags a command supports. A command refuses the others: ignoring a flag such as --namespace
// would let it do more than the user asked for.
type Scope struct {
	// Namespace returns why --namespace cannot be used with these arguments, or "" if it limits the command to leases of
	// the namespace. Nil is for commands that --namespace cannot limit.
	Namespace func(args []string) string
	// Offline reports whether the command sends no requests to a cluster; nil is for commands that always do.
	Offline func() bool
	// Leases says whether the arguments may be short names of leases.
	Leases Leases
	// Claims is true for commands that "release LEASE" undoes for a lease that had nothing before.
	Claims bool
	// Unconfigured is true for commands that do not read the provider's configuration.
	Unconfigured bool
}

// AlwaysOffline is the Scope.Offline of commands that never send requests to a cluster.
func AlwaysOffline() bool { return true }

// SetScope sets the scope of a command and returns the command.
func (c *Session) SetScope(cmd *cobra.Command, s Scope) *cobra.Command {
	if c.scopes == nil {
		c.scopes = map[*cobra.Command]Scope{}
	}
	c.scopes[cmd] = s
	if s.Leases != NoLeases {
		cmd.RunE = c.lengthening(s, cmd.RunE)
	}
	return cmd
}

// OnlySelected is the Scope.Namespace of commands that take leases as arguments: --namespace limits only -l and --all.
func OnlySelected(args []string) string {
	if len(args) > 0 {
		return "can be used only with --all or --selector; a named lease has its own namespace"
	}
	return ""
}

// GivenNamespace returns the value of --namespace, or "" if the flag was not given.
func GivenNamespace(cmd *cobra.Command) string {
	if flag := cmd.Flags().Lookup("namespace"); flag != nil && flag.Changed {
		return flag.Value.String()
	}
	return ""
}

// checkScope refuses inherited flags that the command would ignore. It checks only flags that were given, because kubectl
// passes the kubeconfig's namespace to every command. Every command accepts --kubeconfig and -v.
func (c *Session) checkScope(cmd *cobra.Command, args []string) error {
	s := c.scopes[cmd]
	var wrong error
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if wrong != nil || cmd.Root().PersistentFlags().Lookup(f.Name) != f || f.Name == "kubeconfig" || f.Name == "v" {
			return
		}
		switch {
		case f.Name == "config":
			if s.Unconfigured {
				wrong = usage.Errorf("--config: %s does not look at the provider's configuration", cmd.Name())
			}
		case f.Name == "namespace":
			if s.Namespace == nil {
				wrong = usage.Errorf("--namespace does not limit %s; leave it out", cmd.Name())
			} else if why := s.Namespace(args); why != "" {
				wrong = usage.Errorf("--namespace: %s", why)
			}
		case s.Offline != nil && s.Offline():
			wrong = usage.Errorf("--%s is about a connection to a cluster, and this command reads none; leave it out", f.Name)
		}
	})
	return wrong
}

// completeConnection completes --context, --cluster and --user with the names in the kubeconfig.
func (c *Session) completeConnection(root *cobra.Command) {
	for flag, names := range map[string]func(clientcmdapi.Config) []string{
		"context": func(raw clientcmdapi.Config) []string { return slices.Collect(maps.Keys(raw.Contexts)) },
		"cluster": func(raw clientcmdapi.Config) []string { return slices.Collect(maps.Keys(raw.Clusters)) },
		"user":    func(raw clientcmdapi.Config) []string { return slices.Collect(maps.Keys(raw.AuthInfos)) },
	} {
		complete := func(_ *cobra.Command, _ []string, toComplete string) ([]string, cobra.ShellCompDirective) {
			raw, err := c.flags.ToRawKubeConfigLoader().RawConfig()
			if err != nil {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return matching(names(raw), toComplete), cobra.ShellCompDirectiveNoFileComp
		}
		cobra.CheckErr(root.RegisterFlagCompletionFunc(flag, complete))
	}
}

// addVerbosity adds -v, as kubectl has it.
func (c *Session) addVerbosity(flags *pflag.FlagSet) {
	flags.IntVarP(&c.verbosity, "v", "v", 0,
		"How much is logged of the requests to the cluster: 6 for what they ask for, 7 and 8 also for headers and bodies, without credentials")
}

// logTo logs what client-go does, up to a level of verbosity.
func logTo(out io.Writer, verbosity int) {
	if verbosity < 1 {
		return // errors include what client-go logs
	}
	set := flag.NewFlagSet("klog", flag.ContinueOnError)
	klog.InitFlags(set)
	for name, value := range map[string]string{
		"logtostderr": "false", "stderrthreshold": "FATAL", "v": strconv.Itoa(verbosity), // otherwise it writes around the status line
	} {
		_ = set.Set(name, value) // these exist
	}
	klog.ClearLogger()
	klog.SetOutput(out)
	klog.SetLogFilter(redacting{})
}

// redacting is a klog.LogFilter that leaves out the data of Secrets. client-go masks the credentials in headers.
type redacting struct{}

// Filter filters the arguments of a message.
func (redacting) Filter(args []any) []any { return redact(args) }

// FilterF filters a format and its arguments.
func (redacting) FilterF(format string, args []any) (string, []any) { return format, redact(args) }

// FilterS filters the keys and values of a structured message.
func (redacting) FilterS(msg string, pairs []any) (string, []any) { return msg, redact(pairs) }

// secretData matches the data of a Secret in JSON, which a log may have cut off. That of a ConfigMap looks the same.
var secretData = lazy.Pattern(`("(?:data|stringData)":\s*\{)(?:\s*"(?:[^"\\]|\\.)*(?:"|\\?$)\s*:?\s*(?:"(?:[^"\\]|\\.)*(?:"|\\?$))?\s*,?)*`)

// lastApplied matches what kubectl has applied, which an annotation has: of a Secret its data, too.
var lastApplied = lazy.Pattern(`("kubectl\.kubernetes\.io/last-applied-configuration":\s*")(?:[^"\\]|\\.)*\\?`)

// redact returns values without the data of Secrets.
func redact(values []any) []any {
	out := make([]any, len(values))
	for i, v := range values {
		if text, ok := v.(string); ok {
			v = secretData().ReplaceAllString(lastApplied().ReplaceAllString(text, "$1<omitted>"), "$1<omitted>")
		}
		out[i] = v
	}
	return out
}
