package plugin

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/akash-net/kubectl-akash-net/plugin/session"
)

// connectionFlags are the flags that define the connection to a cluster and its user.
var connectionFlags = []string{
	"as", "as-group", "as-uid", "as-user-extra", "certificate-authority", "client-certificate", "client-key", "cluster", "context",
	"disable-compression", "insecure-skip-tls-verify", "proxy-url", "request-timeout", "server", "tls-server-name", "token", "user",
}

// commandLines are command lines with the inherited flags that they support: "namespace", "connection" for
// connectionFlags, "config".
var commandLines = map[string]string{
	"apply -f a.yaml":                     "connection config",
	"check -f a.yaml":                     "connection config",
	"check -f a.yaml --ledger cluster":    "connection config",
	"check -f a.yaml --ledger .":          "config",
	"check a.example.com --lease LEASE":   "connection config",
	"completion bash":                     "",
	"config":                              "",
	"config edit":                         "connection",
	"config example":                      "",
	"config explain":                      "",
	"config validate":                     "connection config",
	"config view":                         "connection config",
	"convert -f a.yaml":                   "config",
	"convert --from-cluster":              "connection config",
	"diff -f a.yaml":                      "connection config",
	"diff -f a.yaml --ledger cluster":     "connection config",
	"diff -f a.yaml --ledger .":           "config",
	"diff GROUP":                          "connection config",
	"diff GROUP --ledger .":               "config",
	"doctor":                              "connection config",
	"doctor --pre":                        "connection config",
	"events GROUP":                        "connection",
	"explain a.example.com":               "connection config",
	"fit -f a.jsonl":                      "",
	"fit -f a.yaml":                       "connection config",
	"graph":                               "connection config namespace",
	"graph GROUP":                         "connection config namespace",
	"graph -f .":                          "config namespace",
	"history a.example.com":               "connection config",
	"install":                             "connection config",
	"leases":                              "connection config namespace",
	"leases GROUP":                        "connection config namespace",
	"logs GROUP":                          "connection",
	"migrate --to httproute --all":        "connection config namespace",
	"migrate --to httproute -l a=b":       "connection config namespace",
	"migrate --to httproute GROUP":        "connection config",
	"options":                             "",
	"reconcile -f a.yaml":                 "connection config",
	"reconcile --events a.jsonl":          "connection config",
	"reconcile --heal --watch":            "connection config",
	"release --all -y":                    "connection config namespace",
	"release -l a=b":                      "connection config namespace",
	"release GROUP":                       "connection config",
	"release GROUP a.example.com":         "connection config",
	"render -f a.yaml":                    "config",
	"render -f a.yaml --ledger .":         "config",
	"render -f a.yaml --ledger cluster":   "connection config",
	"render --from-cluster":               "connection config",
	"repair":                              "connection config namespace",
	"repair BlockedHost/a.example.com":    "connection config",
	"reserve a.example.com --lease LEASE": "connection config",
	"reserve --order GROUP/1 -f a.yaml":   "connection config",
	"state":                               "connection config namespace",
	"state hosts -A":                      "connection config namespace",
	"state --problems":                    "connection config namespace",
	"state pools":                         "connection config",
	"state -f a.yaml":                     "config namespace",
	"state pools -f a.yaml":               "config",
	"status GROUP":                        "connection config",
	"transfer a.example.com --to LEASE":   "connection config",
	"uninstall":                           "connection config",
	"unreserve --order GROUP/1":           "connection config",
	"version":                             "",
}

// Every flag that a command inherits limits what it does, or is refused with exit code 2.
func TestInheritedFlags(t *testing.T) {
	t.Chdir("testdata")
	commands := map[string]bool{}
	for line, means := range commandLines {
		line = strings.NewReplacer("LEASE", testLease, "GROUP", testOwner+"/8438017/1").Replace(line)
		args := strings.Fields(line)
		commands[args[0]] = true
		newRoot(session.New(t.Context(), genericiooptions.IOStreams{}), nil).PersistentFlags().VisitAll(func(f *pflag.Flag) {
			kind := f.Name
			switch {
			case slices.Contains(connectionFlags, f.Name):
				kind = "connection"
			case f.Name == "kubeconfig", f.Name == "v": // every command accepts these
				return
			}
			value := map[string]string{"bool": "true", "stringArray": "a=b", "string": "x"}[f.Value.Type()]
			if f.Name == "request-timeout" {
				value = "1s"
			}
			code, _, errOut := main1(t, "", append(slices.Clone(args), "--"+f.Name+"="+value)...)
			refused := code == codeUsage && strings.HasPrefix(errOut, "Error: --"+f.Name+":") || code == codeUsage && strings.HasPrefix(errOut, "Error: --"+f.Name+" is about a connection") ||
				code == codeUsage && strings.HasPrefix(errOut, "Error: --"+f.Name+" does not limit") || code == codeUsage && strings.Contains(errOut, "do not choose among them")
			if f.Name == "config" {
				refused = refused && !strings.Contains(errOut, "no such file")
			}
			if want := !slices.Contains(strings.Fields(means), kind); refused != want {
				t.Errorf("%s --%s=%s: refused is %v, want %v; exit code %d: %s", line, f.Name, value, refused, want, code, errOut)
			}
		})
	}
	for _, cmd := range newRoot(session.New(t.Context(), genericiooptions.IOStreams{}), nil).Commands() {
		if cmd.Name() != "help" && cmd.Runnable() && !commands[cmd.Name()] {
			t.Errorf("%s is not in the table", cmd.Name())
		}
	}
}

// Flags that choose go with others that choose only where both can be meant.
func TestChoosingFlags(t *testing.T) {
	for line, want := range map[string]string{
		"release --all -l a=b":            "use one of -f, -l and --all",
		"release GROUP --all":             "use one of -f, -l and --all",
		"migrate --to route GROUP -l a=b": "use one of -l and --all",
		"state pools -l a=b":              "pools belong to no lease",
		"state --problems hosts":          "--problems cannot be combined with a subject",
		"state --problems -l a=b":         "--problems cannot be combined with a subject",
		"state -A=false":                  "name the namespace",
		"state hosts --shard x":           "--shard is about routes",
		"repair --lease LEASE":            "--lease requires -f",
		"apply -f a.yaml --from-cluster":  "cannot be used together",
		"diff":                            "one of -f, --from-cluster and LEASE",
		"diff GROUP -f a.yaml":            "cannot be used with it",
		"diff GROUP --from-cluster":       "cannot be used with it",
		"diff GROUP --lease LEASE":        "cannot be used with it",
		"diff GROUP --allow-empty":        "cannot be used with it",
		"diff a.example.com":              "is not what this command takes: a lease (OWNER/DSEQ/GSEQ)",
		"reserve a.example.com -f a.yaml": "not both",
		"release GROUP -n foo":            "can be used only with --all or --selector",
		"transfer a.example.com --to web": "--to: \"web\" is no lease",
		"render -f a.yaml --context x":    "reads none",
		"version -n x":                    "does not limit version",
	} {
		line = strings.NewReplacer("LEASE", testLease, "GROUP", testOwner+"/8438017/1").Replace(line)
		if code, _, errOut := main1(t, "", strings.Fields(line)...); code != codeUsage || !strings.Contains(errOut, want) {
			t.Errorf("%s: exit code %d, %q; want 2 and %q", line, code, errOut, want)
		}
	}
}
