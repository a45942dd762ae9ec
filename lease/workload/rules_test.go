package workload_test

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/input"
)

// service is a service whose parts testdata/rules.txt replaces.
const service = `
- name: web
  expose: [{port: 81, global: true}]
  workload:
    image: nginx
    count: 1
    env: [A=b]
    resources:
      {id: 1, cpu: 0.5, cpuAttributes: {arch: arm64}, memory: 512Mi, gpu: {units: 1, attributes: [vendor/amd/model/mi300]},
      storage: [{name: default, size: 1Gi}, {name: shm, size: 64Mi, class: ram, persistent: false}, {name: data, size: 1Gi, class: beta2, persistent: true}]}
    params: {storage: {data: {mount: /data}, shm: {mount: /dev/shm}}, permissions: {read: [logs]}}
    credentials: {host: ghcr.io, username: bob, password: hunter2}`

// What a LeaseDefinition may say of what a service runs: `go test ./lease/workload -rewrite` writes what is said now. Each line
// replaces parts of the service above, "PART => OTHER & PART => OTHER"; "a×N" is N times a, ";;" ends a line.
//
//	web      the service of the definition
//	another  a second service, called api, beside the one above: the two have a unit in common
func TestRules(t *testing.T) {
	t.Parallel()
	times := regexp.MustCompile(`(.)×(\d+)`)
	datadriven.RunTest(t, "testdata/rules.txt", func(t *testing.T, d *datadriven.TestData) string {
		var out strings.Builder
		for line := range strings.Lines(d.Input) {
			line = strings.TrimSuffix(line, "\n")
			changed := service
			if d.Cmd == "another" {
				changed = strings.Replace(service, "name: web", "name: api", 1)
			}
			for part := range strings.SplitSeq(line, " & ") {
				old, other, _ := strings.Cut(part, " =>")
				if !strings.Contains(changed, old) {
					t.Fatalf("%q is not in the service", old)
				}
				other = times.ReplaceAllStringFunc(strings.ReplaceAll(strings.TrimPrefix(other, " "), ";;", "\n"), func(s string) string {
					m := times.FindStringSubmatch(s)
					n, _ := strconv.Atoi(m[2])
					return strings.Repeat(m[1], n)
				})
				changed = strings.Replace(changed, old, other, 1)
			}
			text := "apiVersion: net.akash.network/v1alpha1\nkind: LeaseDefinition\nmetadata: {name: shop}\nspec:\n  lease: {owner: akash1xqnd68gm, dseq: 1, gseq: 1, oseq: 1, provider: akash1yqd7y67h}\n  services:"
			if d.Cmd == "another" {
				text += strings.ReplaceAll(service, "\n", "\n  ")
			}
			problems, err := input.Read(t.Context(), strings.NewReader(text+strings.ReplaceAll(changed, "\n", "\n  ")), "", input.Options{Workloads: true}, func(*lease.Definition) error { return nil })
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintln(&out, line)
			if len(problems) == 0 {
				fmt.Fprintln(&out, "    good")
			}
			for _, p := range problems {
				what := ""
				if p.Warning {
					what = "warning: "
				}
				fmt.Fprintf(&out, "    %s%s\n", what, p.Message)
				if strings.Contains(p.Message, "hunter2") {
					t.Errorf("%s: a secret is repeated", line)
				}
			}
		}
		return out.String()
	})
}
