//go:build linux

package bench

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"

	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

var (
	reconciled = flag.Int("reconciled", 10000, "how many leases BenchmarkReconcile keeps")
	changing   = flag.Duration("changing", time.Minute, "how long BenchmarkReconcile changes something, and then nothing")
)

// changes is how many routes are deleted a second, each of which has to come back.
const changes = 100

// reconciler is one that watches.
type reconciler struct {
	cmd  *exec.Cmd
	at   string
	said bytes.Buffer
}

// reconcile starts a reconciler of the definitions in a file, and returns how long it took until it was ready.
func reconcile(b *testing.B, kubeconfig, file string) (*reconciler, time.Duration) {
	b.Helper()
	free, err := (&net.ListenConfig{}).Listen(b.Context(), "tcp", "127.0.0.1:0")
	check(b, err)
	r := &reconciler{at: free.Addr().String()}
	check(b, free.Close())
	program := filepath.Join(filepath.Dir(plugin(b)), "akash-net-reconciler")
	r.cmd = exec.CommandContext(b.Context(), program, "--watch", "--leader-elect=false", "--source=bench", "-f", file, "--listen", r.at)
	r.cmd.Env = environment("KUBECONFIG=" + kubeconfig)
	r.cmd.Stderr = &r.said
	began := time.Now()
	check(b, r.cmd.Start())
	for !r.ready(b) {
		time.Sleep(10 * time.Millisecond)
		if time.Since(began) > 5*time.Minute {
			b.Fatalf("it does not get ready: %s", r.said.String())
		}
	}
	return r, time.Since(began)
}

func (r *reconciler) get(b *testing.B, path string) (code int, body string) {
	b.Helper()
	q, err := http.NewRequestWithContext(b.Context(), http.MethodGet, "http://"+r.at+path, nil)
	check(b, err)
	out, err := http.DefaultClient.Do(q)
	if err != nil {
		return 0, ""
	}
	defer out.Body.Close() //nolint:errcheck // it is read
	text, err := io.ReadAll(out.Body)
	check(b, err)
	return out.StatusCode, string(text)
}

func (r *reconciler) ready(b *testing.B) bool {
	b.Helper()
	code, _ := r.get(b, "/readyz")
	return code == http.StatusOK
}

var depth = regexp.MustCompile(`(?m)^workqueue_(?:depth|unfinished_work_seconds)\{.*name="leases".*\} (\S+)$`)

// settled waits until nothing is due any more.
func (r *reconciler) settled(b *testing.B) {
	b.Helper()
	for quiet := 0; quiet < 3; {
		_, text := r.get(b, "/metrics")
		busy := func(m []string) bool { return m[1] != "0" }
		if all := depth.FindAllStringSubmatch(text, -1); len(all) > 1 && !slices.ContainsFunc(all, busy) {
			quiet++
		} else {
			quiet = 0
		}
		time.Sleep(time.Second)
	}
}

// memory returns what the process has in memory, and had at most, in MiB.
func (r *reconciler) memory(b *testing.B) (now, most float64) {
	b.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", r.cmd.Process.Pid))
	check(b, err)
	of := func(name string) float64 {
		m := regexp.MustCompile(name + `:\s+(\d+) kB`).FindStringSubmatch(string(text))
		kib, err := strconv.ParseFloat(m[1], 64)
		check(b, err)
		return kib / 1024
	}
	return of("VmRSS"), of("VmHWM")
}

func (r *reconciler) stop(b *testing.B) {
	b.Helper()
	check(b, r.cmd.Process.Signal(syscall.SIGTERM))
	if err := r.cmd.Wait(); err != nil {
		b.Errorf("%v: %.2000s", err, r.said.String())
	}
}

// BenchmarkReconcile keeps many leases: how long a reconciler takes until it is ready, beside the LISTs that it needs; how fast routes are
// back that somebody deletes, a hundred a second; what one change costs, and what it costs while nothing changes.
func BenchmarkReconcile(b *testing.B) {
	c, file := startCluster(b), definitions(b, *reconciled, "")
	c.run("reconcile", plugin(b), "reconcile", "-f", file, "--source=bench").measure(b)
	objects, err := dynamic.NewForConfig(c.Config)
	check(b, err)

	lists := c.lists(b, objects)
	r, ready := reconcile(b, c.Kubeconfig, file)
	r.settled(b)
	now, most := r.memory(b)
	show(b, "cold start", usage{ready.Seconds(), 0, most}, metric{lists.Seconds(), "lists-s"}, metric{now, "MiB-now"})
	atMost("cold start: times the LISTs that it needs", ready.Seconds()/lists.Seconds(), 2)
	atMost("memory with its leases, MiB", now, 200)

	after := c.changed(b, objects)
	began := time.Now()
	r.settled(b)
	slices.Sort(after)
	_, most = r.memory(b)
	at := func(part float64) float64 { return after[int(part*float64(len(after)-1))].Seconds() }
	show(b, "changes", usage{0, 0, most}, metric{at(0.5), "s-median"}, metric{at(0.99), "s-p99"}, metric{time.Since(began).Seconds(), "s-backlog"})
	atMost("a route is back, seconds at the 99th percentile", at(0.99), 1)
	alone := c.alone(b, objects, r)
	show(b, "one change", usage{}, metric{alone, "cpu-ms"})
	atMost("one change, milliseconds of a processor", alone, 50)
	r.stop(b)

	requests, received := &atomic.Int64{}, &atomic.Int64{}
	r, _ = reconcile(b, harness.Kubeconfig(b, harness.Proxy(b, c.Config, func(proxy *httputil.ReverseProxy) {
		proxy.ModifyResponse = func(out *http.Response) error {
			requests.Add(1)
			out.Body = counted{out.Body, received}
			return nil
		}
	})), file)
	r.settled(b)
	requests.Store(0)
	received.Store(0)
	time.Sleep(*changing)
	show(b, "quiet", usage{}, metric{float64(requests.Load()), "requests"}, metric{float64(received.Load()), "bytes"})
	r.stop(b)
}

// counted counts what is read.
type counted struct {
	io.ReadCloser
	sum *atomic.Int64
}

// Read implements io.Reader.
func (c counted) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	c.sum.Add(int64(n))
	return n, err
}

// lists is how long the LISTs take of what there is much of, side by side.
func (c *cluster) lists(b *testing.B, objects dynamic.Interface) time.Duration {
	b.Helper()
	began := time.Now()
	group, ctx := errgroup.WithContext(b.Context())
	group.Go(func() error {
		_, err := c.metas.Resource(claims).Namespace(c.ledger).List(ctx, metav1.ListOptions{})
		return err
	})
	group.Go(func() error {
		_, err := c.metas.Resource(kinds.Namespace.Resource()).List(ctx, metav1.ListOptions{})
		return err
	})
	for _, kind := range []kinds.Kind{kinds.Ingress, kinds.ProviderHost, kinds.Service} {
		group.Go(func() error {
			_, err := objects.Resource(kind.Resource()).List(ctx, metav1.ListOptions{})
			return err
		})
	}
	check(b, group.Wait())
	return time.Since(began)
}

// alone deletes routes one by one, and returns what the reconciler takes of a processor for each, in milliseconds.
func (c *cluster) alone(b *testing.B, objects dynamic.Interface, r *reconciler) float64 {
	b.Helper()
	const n = 20
	before := r.processor(b)
	for i := range n {
		d := definition(i % *reconciled)
		routes, host := objects.Resource(kinds.Ingress.Resource()).Namespace(d.Lease.Namespace()), d.Services[0].Expose[0].Hosts[0].Name
		check(b, routes.Delete(b.Context(), host, metav1.DeleteOptions{}))
		for back := false; !back; {
			time.Sleep(time.Second) // what follows is of the change, too
			_, err := routes.Get(b.Context(), host, metav1.GetOptions{})
			back = err == nil
		}
	}
	return 1000 * (r.processor(b) - before) / n
}

// processor returns how many seconds of a processor the process has taken.
func (r *reconciler) processor(b *testing.B) float64 {
	b.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", r.cmd.Process.Pid))
	check(b, err)
	user, err := strconv.ParseFloat(strings.Fields(string(text))[13], 64)
	check(b, err)
	system, err := strconv.ParseFloat(strings.Fields(string(text))[14], 64)
	check(b, err)
	return (user + system) / 100
}

// changed deletes routes for a while, and returns after what time each was back.
func (c *cluster) changed(b *testing.B, objects dynamic.Interface) (after []time.Duration) {
	b.Helper()
	ingresses := objects.Resource(kinds.Ingress.Resource())
	informer := dynamicinformer.NewDynamicSharedInformerFactory(objects, 0).ForResource(kinds.Ingress.Resource()).Informer()
	var mu sync.Mutex
	gone := map[string]time.Time{}
	all := make(chan struct{})
	total := int(changing.Seconds() * changes)
	back := func(o any) {
		mu.Lock()
		defer mu.Unlock()
		name := o.(metav1.Object).GetName()
		if at, deleted := gone[name]; deleted {
			if after = append(after, time.Since(at)); len(after) == total {
				close(all)
			}
			delete(gone, name)
		}
	}
	seeing, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: back, UpdateFunc: func(was, is any) {
		if was.(metav1.Object).GetUID() != is.(metav1.Object).GetUID() { // both events were missed
			back(is)
		}
	}})
	check(b, err)
	ctx, stop := context.WithCancel(b.Context())
	defer stop()
	go informer.RunWithContext(ctx)
	if !cache.WaitForCacheSync(ctx.Done(), seeing.HasSynced) {
		b.Fatal("the routes cannot be watched")
	}
	tick := time.NewTicker(time.Second / changes)
	defer tick.Stop()
	for i := range total {
		<-tick.C
		d := definition(i % *reconciled)
		host := d.Services[0].Expose[0].Hosts[0].Name
		mu.Lock()
		gone[host] = time.Now()
		mu.Unlock()
		go func() {
			if err := ingresses.Namespace(d.Lease.Namespace()).Delete(context.WithoutCancel(b.Context()), host, metav1.DeleteOptions{}); err != nil {
				b.Error(err)
			}
		}()
	}
	select {
	case <-all:
	case <-time.After(5 * time.Minute):
	}
	mu.Lock()
	defer mu.Unlock()
	if len(after) == 0 {
		b.Fatalf("none of %d routes came back", total)
	}
	if len(after) < total {
		b.Errorf("%d of %d routes did not come back", total-len(after), total)
	}
	return slices.Clone(after)
}
