//go:build linux

package bench

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// changes is how many routes are deleted a second, each of which has to come back.
const changes = 100

// reconciler is one that watches.
type reconciler struct {
	cmd  *exec.Cmd
	at   string
	said bytes.Buffer
}

// reconcile starts a reconciler of n leases, and returns how long it took until it was ready, and what it then has in memory.
func reconcile(b *testing.B, c *cluster, n int) (*reconciler, usage) {
	b.Helper()
	free, err := (&net.ListenConfig{}).Listen(b.Context(), "tcp", "127.0.0.1:0")
	check(b, err)
	r := &reconciler{at: free.Addr().String()}
	check(b, free.Close())
	program := filepath.Join(filepath.Dir(plugin(b)), "akash-net-reconciler")
	r.cmd = exec.CommandContext(b.Context(), program, "--watch", "--leader-elect=false", "--source=bench", "-f", definitions(b, n, document), "--listen", r.at)
	r.cmd.Env = environment("KUBECONFIG=" + c.Kubeconfig)
	r.cmd.Stderr = &r.said
	began := time.Now()
	check(b, r.cmd.Start())
	for !r.ready(b) {
		time.Sleep(10 * time.Millisecond)
		if time.Since(began) > 5*time.Minute {
			b.Fatalf("it does not get ready: %s", r.said.String())
		}
	}
	ready := time.Since(began).Seconds()
	r.settled(b)
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", r.cmd.Process.Pid))
	check(b, err)
	kib, err := strconv.ParseFloat(regexp.MustCompile(`VmRSS:\s+(\d+) kB`).FindStringSubmatch(string(text))[1], 64)
	check(b, err)
	return r, usage{ready, 0, kib / 1024}
}

func (r *reconciler) ready(b *testing.B) bool {
	b.Helper()
	q, err := http.NewRequestWithContext(b.Context(), http.MethodGet, "http://"+r.at+"/readyz", nil)
	check(b, err)
	out, err := http.DefaultClient.Do(q)
	return err == nil && out.Body.Close() == nil && out.StatusCode == http.StatusOK
}

// settled waits until there is nothing to do.
func (r *reconciler) settled(b *testing.B) {
	b.Helper()
	began := time.Now()
	for now, before := r.processor(b), -1.0; now-before > 0.03; now = r.processor(b) {
		if before = now; time.Since(began) > 5*time.Minute {
			b.Fatalf("it has always something to do: %s", r.said.String())
		}
		time.Sleep(time.Duration(size(1000, 200)) * time.Millisecond)
	}
}

func (r *reconciler) stop(b *testing.B) {
	b.Helper()
	check(b, r.cmd.Process.Signal(syscall.SIGTERM))
	if err := r.cmd.Wait(); err != nil {
		b.Errorf("%v: %.2000s", err, r.said.String())
	}
}

// BenchmarkReconcile keeps up to 10,000 leases: what a reconciler takes until it is ready, and in memory; what one change costs; how fast
// routes are back that somebody deletes, a hundred a second.
func BenchmarkReconcile(b *testing.B) {
	c := ofItsOwn(b, false)
	growing := []int{900, 2000, 4500, 10_000} // a goal is of 2,000
	if *smallest {
		growing = sizes(0)
	}
	c.run("reconcile", plugin(b), "reconcile", "-f", definitions(b, 1, document), "--source=bench").measure(b)
	var base usage
	for range 2 { // the first warms the API server up
		var r *reconciler
		r, base = reconcile(b, c, 1)
		r.stop(b)
	}
	model, written := c.stored(b, append(c.written()[:3], "namespaces/"+definition(0).Lease.Namespace())...), 1
	var started, changed []usage
	for i, n := range growing {
		c.spread(b, model, written, n, namesOf)
		written = max(written, n)
		r, u := reconcile(b, c, n)
		var alone []float64
		for range map[bool]int{true: *runs, false: 1}[i == 1] {
			alone = append(alone, c.alone(b, r, n))
		}
		started, changed = append(started, u), append(changed, usage{0, middle(alone) / 1000})
		if i == 1 {
			judge("reconcile: a change alone", fmt.Sprintf("ms of a processor, %d leases", n), "at most", 50, alone)
		}
		if i == 3 {
			var late []float64
			for range *runs {
				late = append(late, c.lateness(b, n))
			}
			judge("reconcile: routes are back", fmt.Sprintf("s at the 99th percentile, %d leases, %d deleted in 2 s", n, 2*changes), "at most", 1, late)
		}
		r.stop(b)
	}
	memory := []float64{started[3][peak]}
	for range *runs - 1 {
		r, u := reconcile(b, c, growing[3])
		memory = append(memory, u[peak])
		r.stop(b)
	}
	judge("reconcile: memory", fmt.Sprintf("MiB, %d leases", growing[3]), "at most", 200, memory)
	grown(b, "reconcile, start", base, growing, started, wall, peak)
	grown(b, "reconcile, one change", usage{}, growing, changed, cpu)
}

// routeOf is the Ingress of a lease.
func routeOf(i int) (namespace, host string) {
	d := definition(i)
	return d.Lease.Namespace(), d.Services[0].Expose[0].Hosts[0].Name
}

// alone deletes some of n routes one by one, and returns what the reconciler takes of a processor for each, in milliseconds.
func (c *cluster) alone(b *testing.B, r *reconciler, n int) float64 {
	b.Helper()
	const some = 3
	before := r.processor(b)
	for i := range some {
		namespace, host := routeOf(i % n)
		routes := c.client.NetworkingV1().Ingresses(namespace)
		check(b, routes.Delete(b.Context(), host, metav1.DeleteOptions{}))
		for back := false; !back; {
			time.Sleep(time.Duration(size(500, 100)) * time.Millisecond) // what follows is of the change, too
			_, err := routes.Get(b.Context(), host, metav1.GetOptions{})
			back = err == nil
		}
	}
	return 1000 * (r.processor(b) - before) / some
}

// processor returns how many seconds of a processor the process has taken.
func (r *reconciler) processor(b *testing.B) float64 {
	b.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", r.cmd.Process.Pid))
	check(b, err)
	var user, system float64
	_, err = fmt.Sscan(strings.Join(strings.Fields(string(text))[13:15], " "), &user, &system)
	check(b, err)
	return (user + system) / 100
}

// lateness deletes some of n routes, and returns after how many seconds 99 of 100 were back.
func (c *cluster) lateness(b *testing.B, n int) float64 {
	b.Helper()
	ctx, stop := context.WithTimeout(b.Context(), 5*time.Minute)
	defer stop()
	there, err := c.client.NetworkingV1().Ingresses("").List(ctx, metav1.ListOptions{Limit: 1})
	check(b, err)
	seen, err := c.client.NetworkingV1().Ingresses("").Watch(ctx, metav1.ListOptions{ResourceVersion: there.ResourceVersion})
	check(b, err)
	total, deleted, after := size(2*changes, 4), sync.Map{}, []float64{}
	deletes, ctx := errgroup.WithContext(ctx)
	deletes.Go(func() error {
		for i := range total {
			deletes.Go(func() error {
				namespace, host := routeOf(i % n)
				deleted.Store(host, time.Now())
				return c.client.NetworkingV1().Ingresses(namespace).Delete(ctx, host, metav1.DeleteOptions{})
			})
			time.Sleep(time.Second / changes)
		}
		return nil
	})
	for e := range seen.ResultChan() {
		if o, ok := e.Object.(*networkingv1.Ingress); ok && e.Type == watch.Added {
			if at, ok := deleted.LoadAndDelete(o.Name); ok {
				after = append(after, time.Since(at.(time.Time)).Seconds())
			}
		}
		if len(after) == total {
			break
		}
	}
	if check(b, deletes.Wait()); len(after) < total {
		b.Fatalf("%d of %d routes did not come back", total-len(after), total)
	}
	return slices.Sorted(slices.Values(after))[(total-1)*99/100]
}
