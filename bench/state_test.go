//go:build linux

package bench

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/emit"
	"github.com/akash-net/kubectl-akash-net/state/admission"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// BenchmarkState asks who holds which host, of many claims, beside the lists that it makes, in a bare loop.
func BenchmarkState(b *testing.B) {
	c := shared(b)
	hosts := c.run("state hosts", plugin(b), "state", "hosts", "-o", "name")
	nothing := alternate(b, *runs, hosts)[0]
	first := definition(0)
	_, err := c.client.CoordinationV1().Leases(c.ledger).Apply(b.Context(), claimOf(first), metav1.ApplyOptions{FieldManager: first.Lease.Group().FieldManager()})
	check(b, err)
	model, written := c.stored(b, c.written()[0]), 1
	grow(b, "state hosts", 3, 20_000, func(n int) program {
		c.spread(b, model, written, n, namesOf)
		written = max(written, n)
		return hosts
	}, wall, peak)
	lists := newReplay(b, c.record(b, hosts), 0)
	var ours, bare []usage
	for range *runs {
		ours, bare = append(ours, hosts.measure(b)), append(bare, lists.measure(b, c))
	}
	show(b, "bare lists", median(bare))
	judge("state: bare lists", "times the wall of the bare lists", "at most", 1.1, ratios(ours, bare, wall))
	judge("state: memory", "bytes a claim", "at most", 700, beyond(ours, nothing, peak, float64(written), 1<<20))
}

// BenchmarkResources asks what a cluster has left, beside kubectl, which gets the objects that tell it: pods of a hundred leases on 200 nodes.
func BenchmarkResources(b *testing.B) {
	const leases, nodes = 100, 200
	c := shared(b)
	for i := range size(nodes, 2) {
		harness.Node(b, nodeName(i), map[string]string{"akash.network": "true"}, harness.Amounts("64", "256Gi"))
	}
	each(b, leases, func(ctx context.Context, i int) error {
		id := definition(i).Lease
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: id.Namespace(), Labels: id.Labels()}}
		_, err := c.client.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{})
		return err
	})
	all := []program{
		c.run("state resources", plugin(b), "state", "resources", "-o", "json"),
		c.run("kubectl get nodes,pods", tool(b, "kubectl"), "get", "nodes,pods", "-A", "-o", "json"),
	}
	p := leasedPod(b)
	status, pods := p.Status, c.client.CoreV1().Pods(p.Namespace)
	p, err := pods.Create(b.Context(), p, metav1.CreateOptions{})
	check(b, err)
	p.Status = status
	_, err = pods.UpdateStatus(b.Context(), p, metav1.UpdateOptions{})
	check(b, err)
	model, made := c.stored(b, "pods/"), 1
	grow(b, "state resources", 3, 5000, func(n int) program {
		c.spread(b, model, made, n, func(i int) []string {
			return append(namesOf(i % leases)[1:4], podNames(i, nodes)...)
		})
		made = max(made, n)
		return all[0]
	}, wall, peak)
	found := alternate(b, *runs, all...)
	compare(b, all, found)
	judge("state resources: kubectl", "times faster than kubectl get nodes,pods -o json", "at least", 15, ratios(found[1], found[0], wall))
}

// podNames are the names of a pod and of its node, and its address.
func podNames(i, nodes int) []string {
	return []string{fmt.Sprintf("web-%05d", i), nodeName(i % nodes), fmt.Sprintf("10.0.%d.%d", 100+i/100, 100+i%100)}
}

func nodeName(i int) string { return fmt.Sprintf("node-%03d", i) }

// leasedPod is a pod as a lease's Deployment makes it.
func leasedPod(b *testing.B) *corev1.Pod {
	b.Helper()
	text, err := os.ReadFile("testdata/pod.yaml")
	check(b, err)
	id, names, p := definition(0).Lease, podNames(0, 1), &corev1.Pod{}
	of := strings.NewReplacer("NAMESPACE", id.Namespace(), "NAME", names[0], "NODE", names[1], "ADDRESS", names[2], "NOW", time.Now().UTC().Format(time.RFC3339))
	check(b, yaml.UnmarshalStrict([]byte(of.Replace(string(text))), p))
	p.Labels = id.Labels()
	p.Labels["akash.network/manifest-service"], p.Labels["akash.network/namespace"] = "web", p.Namespace
	return p
}

// BenchmarkAdmission decides which routes are admitted, in this process. Routes are of many owners: one in eight is for a host that another
// has, one in eighty is a wildcard, and one host in three has a claim. Its memory is all that it allocates.
func BenchmarkAdmission(b *testing.B) {
	decide := func(n int) (u usage) {
		routes, claims := make([]admission.Route, n), admission.NewClaims()
		for i := range routes {
			routes[i] = admission.Route{
				Kind: admission.KindIngress, Namespace: fmt.Sprint("ns", i%(n/4+1)), Name: fmt.Sprint("route-", i), UID: types.UID(fmt.Sprint("uid-", i*31%n)),
				Created: time.Unix(int64(i*7919%n), 0), Host: fmt.Sprintf("host-%d.domain-%d.example.com", i-i%8/7, i/16), Path: "/",
			}
			if i%80 == 0 {
				routes[i].Kind, routes[i].Path, routes[i].Wildcard = admission.KindRoute, "", admission.WildcardSubdomain
			}
			if i%3 == 0 {
				claims.Add(routes[i].Host, owners[0])
			}
		}
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		began, idle := time.Now(), worked()
		admission.Decide(admission.NewRules(config.Default()), claims, routes, nil)
		u = usage{time.Since(began).Seconds(), (worked() - idle).Seconds()}
		runtime.ReadMemStats(&after)
		u[peak] = float64(after.TotalAlloc-before.TotalAlloc) / (1 << 20)
		return u
	}
	growing := sizes(100_000)
	var found []usage
	var largest []float64
	for _, n := range growing {
		var again []usage
		for range *runs {
			again = append(again, decide(n))
		}
		found, largest = append(found, median(again)), figures(again, cpu)
	}
	grown(b, "admission", usage{}, growing, found, cpu, peak)
	judge("admission", fmt.Sprintf("s of a processor for %d routes", growing[3]), "at most", 0.25, largest)
}

// worked is the time of a processor that this process has taken.
func worked() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkCheck asks whether one lease can have its host beside many, whose objects are in a file.
func BenchmarkCheck(b *testing.B) {
	wanted := file(b, func(w io.Writer) { fmt.Fprintf(w, document, "new", owners[0], 7, provider, "new.example.com") })
	beside := func(n int) program {
		return program{name: "check", args: []string{plugin(b), "check", "-f", wanted, "--ledger", objects(b, n, emit.WriteYAML)}}
	}
	n := size(10_000, 8)
	grow(b, "check --ledger", 1, n, beside, cpu, peak)
	found := alternate(b, *runs, beside(n))[0]
	judge("check --ledger: processor", fmt.Sprintf("s of a processor beside %d leases", n), "at most", 2, figures(found, cpu))
	judge("check --ledger: memory", fmt.Sprintf("MiB beside %d leases", n), "at most", 200, figures(found, peak))
}

// BenchmarkProblems looks for problems of leases with an address, beside `state`. The addresses are granted here, as MetalLB does it.
func BenchmarkProblems(b *testing.B) {
	c := ofItsOwn(b, true)
	problems, state := c.run("state --problems", plugin(b), "state", "--problems"), c.run("state", plugin(b), "state")
	n := size(1000, 8)
	grow(b, "state --problems", 1, n, func(n int) program {
		c.run("apply", plugin(b), "apply", "--wait=false", "-f", definitions(b, n, addressed)).measure(b)
		services, err := c.client.CoreV1().Services("").List(b.Context(), metav1.ListOptions{LabelSelector: lease.LabelDSeq})
		check(b, err)
		each(b, len(services.Items), func(ctx context.Context, i int) error {
			s := &services.Items[i]
			s.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: s.Annotations["metallb.universe.tf/loadBalancerIPs"]}}
			_, err := c.client.CoreV1().Services(s.Namespace).UpdateStatus(ctx, s, metav1.UpdateOptions{})
			return err
		})
		return problems
	}, wall, peak)
	found := alternate(b, *runs, problems, state)
	compare(b, []program{problems, state}, found)
	for _, asked := range []program{problems, state} {
		show(b, "bare lists of "+asked.name, newReplay(b, c.record(b, asked), 0).measure(b, c))
	}
	judge("state --problems", fmt.Sprintf("times the wall of state, %d leases with an address", n), "at most", 3, ratios(found[0], found[1], wall))
}
