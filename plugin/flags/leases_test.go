package flags

import (
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/thing"
	"github.com/akash-net/kubectl-akash-net/plugin/usage"
	"github.com/akash-net/kubectl-akash-net/test/golden"
)

// set sets a flag as the command line does, and as a session checks it.
func set(cmd *cobra.Command, flag, value string) error {
	f := cmd.Flags().Lookup(flag)
	if err := f.Value.Set(value); err != nil {
		return err
	}
	return f.Value.(interface{ Check(flag string) error }).Check(flag)
}

// What names and values mean, and what is said of others: testdata/rules.txt.
//
//	lease     a name, and behind a bar the orders of the group that have leases
//	value     a value of --output, and behind a bar those that it may have; "-" is none
//	dry-run, concurrency   values of these flags
//	thing     a name where hosts and addresses are asked for
//	missing   the hosts that are missing of a.b and c.d
func TestRules(t *testing.T) {
	const owner = "akash1h24fljt7p0nh82cq0za0uhsct3sfwsfu9w3c9h"
	id := lease.ID{Owner: owner, DSeq: 7, GSeq: 1, OSeq: 1, Provider: "akash1nxq8gmsw2vlz3m68qvyvcf3kh6q269ajvqw6y0"}
	long, short := strings.NewReplacer("OWNER", owner, "PROVIDER", id.Provider), strings.NewReplacer(owner, "OWNER", id.Provider, "PROVIDER")
	say := func(err error, said string) string {
		if err != nil {
			said = "! " + err.Error()
		}
		return short.Replace(said)
	}
	golden.Rules{
		"lease": func(line string) string {
			typed, leases, _ := strings.Cut(long.Replace(line), " |")
			var objects []*unstructured.Unstructured
			for _, order := range strings.Fields(leases) {
				of := id
				of.OSeq = uint32(order[0] - '0')
				o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace"}}
				o.SetName(of.Namespace())
				o.SetLabels(of.Labels())
				objects = append(objects, o)
			}
			in, err := cluster.OfObjects(objects)
			if err != nil {
				t.Fatal(err)
			}
			found, err := FindLease(t.Context(), in, typed)
			return say(err, found.String())
		},
		"value": func(line string) string {
			typed, words, _ := strings.Cut(line, " |")
			formats, initial := strings.Fields(words), ""
			if optional := formats[0] == "-"; optional {
				formats = formats[1:]
			} else {
				initial = formats[0]
			}
			var output string
			cmd := &cobra.Command{}
			AddOutput(cmd, &output, initial, "", formats...)
			err := set(cmd, "output", strings.Trim(typed, "-"))
			if _, ok := err.(*usage.Error); err != nil && !ok { //nolint:errorlint // as it is returned
				t.Errorf("%T is not a usage error", err)
			}
			return say(err, "good")
		},
		"dry-run": func(line string) string {
			var value string
			cmd := &cobra.Command{}
			AddDryRun(cmd, &value)
			err := set(cmd, "dry-run", line)
			return say(err, strconv.Quote(value))
		},
		"concurrency": func(line string) string {
			var value int
			cmd := &cobra.Command{}
			AddConcurrency(cmd, &value)
			err := set(cmd, "concurrency", line)
			return say(err, strconv.Itoa(value))
		},
		"thing": func(line string) string {
			_, err := ParseThings([]string{line}, thing.Host, thing.Address)
			return say(err, "good")
		},
		"missing": func(line string) string {
			things := []thing.Thing{{Kind: thing.Host, Host: "a.b"}, {Kind: thing.Host, Host: "c.d"}}
			return say(MissingThings(things, func(t thing.Thing) bool { return strings.Contains(line, t.Host) }, "%s is not held by %s", "x"), "good")
		},
	}.Check(t, "testdata/rules.txt")
}
