package plugin

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/akash-net/kubectl-akash-net/plugin/printing"
	"github.com/akash-net/kubectl-akash-net/state/view"
)

// Wrong usage is told before any cluster is asked.
func TestStateUsage(t *testing.T) {
	t.Setenv("KUBECONFIG", "/nonexistent")
	for words, want := range map[string]string{
		"routes,pods":                        `no subject "pods"`,
		"hosts --shard blue":                 "--shard is about routes",
		"routes -f - --watch":                "look at a cluster, not at files",
		"--problems -f -":                    "look at a cluster, not at files",
		"routes -f - --shard blue":           `no shard "blue" (spec.shards: -)`,
		"hosts,":                             `no subject ""`,
		"-o xml":                             `unknown format "xml"`,
		"-o custom-columns":                  "name the columns",
		"-o custom-columns=HOST":             `"HOST" is not HEADER:PATH`,
		"-o custom-columns=HOST:.host[":      "column HOST",
		"-o jsonpath={.hosts":                "jsonpath",
		"-o jsonpath=":                       "no template",
		"-o jsonpath-file=/nonexistent/file": "/nonexistent/file",
		"-l a=b=c":                           "--selector",
		"--watch":                            "--watch shows one subject",
		"hosts ips --watch":                  "--watch shows one subject",
		"hosts --unknown":                    "unknown flag",
	} {
		t.Run(words, func(t *testing.T) {
			var out, errOut bytes.Buffer
			args := append([]string{"kubectl-akash_net", "state"}, strings.Fields(words)...)
			code := Main(context.Background(), args, genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &errOut})
			if code != exitUsage || out.Len() > 0 || !strings.Contains(errOut.String(), want) {
				t.Errorf("code %d, stdout %q, stderr %q; want code %d and %q on stderr only", code, out.String(), errOut.String(), exitUsage, want)
			}
		})
	}
}

func TestParseSubjects(t *testing.T) {
	for words, want := range map[string][]view.Subject{
		"":                        nil,
		"hosts":                   {view.SubjectHosts},
		"dns":                     {view.SubjectDNS},
		"resources":               {view.SubjectResources},
		"order,orders":            {view.SubjectOrders},
		"pool,Host ip host":       {view.SubjectPools, view.SubjectHosts, view.SubjectIPs},
		"leases pools ips hosts ": {view.SubjectLeases, view.SubjectPools, view.SubjectIPs, view.SubjectHosts},
		"route,routes":            {view.SubjectRoutes},
	} {
		got, err := parseSubjects(strings.Fields(words))
		if err != nil {
			t.Errorf("%q: %v", words, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", words, diff)
		}
	}
}

func TestCompleteSubjects(t *testing.T) {
	for words, want := range map[string][]string{
		"|":            {"hosts", "ips", "leases", "pools", "routes", "dns", "resources", "orders"},
		"hosts ip|":    {"leases", "pools", "routes", "dns", "resources", "orders"},
		"|l":           {"leases"},
		"pools|hosts,": {"hosts,ips", "hosts,leases", "hosts,routes", "hosts,dns", "hosts,resources", "hosts,orders"},
	} {
		args, toComplete, _ := strings.Cut(words, "|")
		got, _ := completeSubjects(nil, strings.Fields(args), toComplete)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", words, diff)
		}
	}
}

func TestSubjectsOfASelection(t *testing.T) {
	for words, want := range map[string][]view.Subject{
		"":                     view.Holdings,
		"-A":                   view.Holdings,
		"-n some -A":           view.Holdings,
		"-n some":              {view.SubjectHosts, view.SubjectIPs, view.SubjectLeases},
		"-l akash.network=x":   {view.SubjectHosts, view.SubjectIPs, view.SubjectLeases},
		"leases --namespace=x": {view.SubjectLeases},
	} {
		t.Run(words, func(t *testing.T) {
			root := newRoot(&session{})
			cmd, rest, err := root.Find(append([]string{"state"}, strings.Fields(words)...))
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.ParseFlags(rest); err != nil {
				t.Fatal(err)
			}
			f := &stateFlags{print: printing.NewFlags()}
			f.selector, _ = cmd.Flags().GetString("selector")
			f.allNamespaces, _ = cmd.Flags().GetBool("all-namespaces")
			if err := f.check(cmd, cmd.Flags().Args()); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, f.subjects); diff != "" {
				t.Errorf("subjects (-want +got):\n%s", diff)
			}
		})
	}
}
