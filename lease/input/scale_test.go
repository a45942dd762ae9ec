package input_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/input"
)

const scaleHead = `apiVersion: net.akash.network/v1alpha1
kind: LeaseDefinition
metadata: {name: a}
spec:
  lease: {owner: akash1h24fljt7p0nh82cq0za0uhsct3sfwsfu9w3c9h, dseq: 1, gseq: 1, oseq: 1, provider: akash1nxq8gmsw2vlz3m68qvyvcf3kh6q269ajvqw6y0}
  services:
`

// inputs of any size: paths of one host, services on endpoints, backends, markers without documents, and names that lead nowhere.
var scaled = map[string]func(n int) string{
	"paths": func(n int) string {
		return scaleHead + "  - name: web\n    expose:\n" + lines(n, "    - {port: 80, global: true, hosts: [shop.example.com], path: /p%[1]d}\n")
	},
	"endpoints": func(n int) string {
		return scaleHead + lines(n, "  - {name: s%[1]d, expose: [{port: 80, global: true, ip: e%[1]d}]}\n") + "  ipEndpoints:\n" + lines(n, "  - {name: e%[1]d}\n")
	},
	"backends": func(n int) string {
		return scaleHead + lines(n, "  - {name: s%[1]d, expose: [{port: 80, global: true, hosts: [h%[1]d.example.com], alternateBackends: [{service: none%[1]d, weight: 1}]}]}\n")
	},
	"markers": func(n int) string {
		return strings.Repeat("---\n", n) + scaleHead + "  - {name: web, expose: [{port: 80}]}\n"
	},
	"misnamed": func(n int) string {
		return "version: \"2.0\"\nservices:\n" + lines(n, "  service-%[1]d: {image: x, expose: [{port: 80, to: [{global: true, ip: endpoint-%[1]d}]}]}\n") +
			"endpoints:\n" + lines(n, "  endpiont-%[1]d: {kind: ip}\n") +
			"profiles:\n  compute:\n" + lines(n, "    compute-%[1]d: {resources: {cpu: {units: 1}, memory: {size: 1Gi}, storage: {size: 1Gi}}}\n") +
			"  placement: {p: {}}\ndeployment:\n" + lines(n, "  servise-%[1]d: {p: {profile: compote-%[1]d, count: 1}}\n")
	},
}

func lines(n int, format string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

// BenchmarkScale shows that time grows with the size of the input: ns/item is the same at n and 10n.
func BenchmarkScale(b *testing.B) {
	id := lease.ID{Owner: "akash1h24fljt7p0nh82cq0za0uhsct3sfwsfu9w3c9h", DSeq: 1, GSeq: 1, OSeq: 1, Provider: "akash1nxq8gmsw2vlz3m68qvyvcf3kh6q269ajvqw6y0"}
	for _, name := range []string{"paths", "endpoints", "backends", "markers", "misnamed"} {
		for _, n := range []int{1000, 10_000} {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				text := scaled[name](n)
				for b.Loop() {
					if _, err := input.Read(b.Context(), strings.NewReader(text), "f", input.Options{Lease: &id}, func(*lease.Definition) error { return nil }); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/item")
			})
		}
	}
}
