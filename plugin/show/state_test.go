package show

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/akash-net/kubectl-akash-net/plugin/printing"
	"github.com/akash-net/kubectl-akash-net/plugin/session"
	"github.com/akash-net/kubectl-akash-net/state/view"
)

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
			c := session.New(t.Context(), genericiooptions.IOStreams{})
			cmd := NewState(c)
			c.AddFlags(cmd)
			if err := cmd.ParseFlags(strings.Fields(words)); err != nil {
				t.Fatal(err)
			}
			f := &stateFlags{print: printing.NewFlags()}
			f.rows.selector, _ = cmd.Flags().GetString("selector")
			f.rows.allNamespaces, _ = cmd.Flags().GetBool("all-namespaces")
			if err := f.check(cmd, cmd.Flags().Args()); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, f.subjects); diff != "" {
				t.Errorf("subjects (-want +got):\n%s", diff)
			}
		})
	}
}
