package akash_test

import (
	"bufio"
	"context"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/test/akash/operators"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// reconciled is a world in which a reconciler applies the definitions in a folder, with the rights that install gives it.
type reconciled struct {
	w           *world
	folder, url string
}

func reconcileBeside(w *world) *reconciled {
	w.Helper()
	port := harness.FreePort(w.T)
	r := &reconciled{w: w, folder: w.TempDir(), url: "http://127.0.0.1:" + port}
	cmd := harness.Command(context.WithoutCancel(w.Context()), reconciler, "reconcile", "--watch", "-f", r.folder, "--source", "beside",
		"--allow-empty", "--max-deletes=1", "--config", w.config, "--resync=1s", "--listen", port)
	ended := harness.Start(cmd)
	w.Cleanup(func() {
		_ = cmd.Process.Kill()
		if said := ended(); w.Failed() {
			w.Log(said)
		}
	})
	return r
}

// file is where the definition of a deployment is kept.
func (r *reconciled) file(id lease.ID) string {
	return filepath.Join(r.folder, fmt.Sprint(id.DSeq, ".yaml"))
}

// define sends the manifest of a deployment, and writes its definition into the folder.
func (r *reconciled) define(d operators.Deployment) {
	r.w.Helper()
	must(r.w.T, r.w.akash.SendManifest(r.w.Context(), d))
	must(r.w.T, os.Rename(r.w.define(d), r.file(d.Lease)))
}

// decided returns how often the reconciler has decided on a lease.
func (r *reconciled) decided(ctx context.Context) (n int) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, r.url+"/metrics", http.NoBody)
	must(r.w.T, err)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0 // it does not listen yet
	}
	defer response.Body.Close() //nolint:errcheck // it has been read
	for lines := bufio.NewScanner(response.Body); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), `workqueue_work_duration_seconds_count{controller="leases"`) {
			value, err := strconv.Atoi(lines.Text()[strings.LastIndex(lines.Text(), " ")+1:])
			must(r.w.T, err)
			n += value
		}
	}
	return n
}

// versions are the versions of all that the owner has.
func (r *reconciled) versions() map[string]string {
	r.w.Helper()
	out := map[string]string{}
	for _, resource := range []schema.GroupVersionResource{
		claims, operators.Hosts, operators.LeasedIPs, operators.Ingresses, operators.Services, operators.Manifests, operators.Namespaces,
	} {
		of := lease.LabelOwner
		if resource == claims {
			of = "net.akash.network/owner"
		}
		for _, o := range list(r.w.T, resource, of+"="+r.w.owner) {
			out[resource.Resource+"/"+o.GetName()] = o.GetResourceVersion()
		}
	}
	return out
}

// still waits until nothing is written while the reconciler decides twice, except for what is named.
func (r *reconciled) still(when string, except ...string) {
	r.w.Helper()
	seen := func() map[string]string {
		now := r.versions()
		for _, name := range except {
			delete(now, name)
		}
		return now
	}
	was, began := seen(), r.decided(r.w.Context())
	harness.Eventually(r.w.T, when+": nothing is to be written again and again", func(ctx context.Context) (bool, error) {
		decided := r.decided(ctx)
		if decided < began+2 {
			return false, nil
		}
		is := seen()
		diff := cmp.Diff(was, is)
		if was, began = is, decided; diff != "" {
			r.w.Logf("%s: it was written (-was +is):\n%s", when, diff)
			return false, nil
		}
		return true, nil
	})
}

// backend waits until the operator's route of a host leads to a backend, empty for no route.
func (r *reconciled) backend(when, host, want string) {
	r.w.Helper()
	eventually(r.w.T, fmt.Sprintf("%s: %s is to lead to %q", when, host, want), func() bool {
		route := find(r.w.T, operators.Ingresses, r.w.blue.Namespace(), host)
		return route == nil && want == "" || route != nil && leadsTo(route) == want
	})
}

// A reconciler beside Akash's operators declares what its files define, leaves the routes to the operators, whatever happens to those and
// to their routes, and keeps a claim as long as an operator's route serves it. It writes nothing twice.
func reconcilerBesideOperators(t *testing.T) {
	o, spec := pooled(t, "")
	r := reconcileBeside(newWorld(t, o, spec))
	host, other := newHost("reconciled"), newHost("other")
	d, leased := workload(r.w.blue, []string{host}), backed(r.w.green, "web", "web", other)
	r.define(d)
	r.define(leased)
	r.backend("applied", host, "web:80")
	eventually(t, "the port is to be granted", func() bool {
		s := find(t, operators.Services, r.w.green.Namespace(), "web-ip-443-tcp")
		return s != nil && strings.Contains(fmt.Sprint(s.Object["status"]), "10.78.")
	})
	r.w.caughtUp("applied")
	r.still("applied")
	declared := find(t, operators.Hosts, manifests, host)
	for _, entry := range find(t, operators.Ingresses, r.w.blue.Namespace(), host).GetManagedFields() {
		if entry.Manager != operators.Manager {
			t.Errorf("%s writes the operator's route", entry.Manager)
		}
	}

	harness.Remove(t, operators.Ingresses, r.w.blue.Namespace(), host)
	r.still("the operator's route is deleted by hand")
	r.backend("the operator's route is deleted by hand", host, "")
	r.w.running.Restart()
	r.backend("the operator is restarted", host, "web:80")
	r.still("the operator is restarted")

	r.w.running.Stop()
	d = routedTo(workload(r.w.blue, []string{host}), "api")
	r.define(d)
	eventually(t, "the ProviderHost is to lead to the other service", func() bool {
		spec, _ := find(t, operators.Hosts, manifests, host).Object["spec"].(map[string]any)
		return spec["service_name"] == "api"
	})
	r.still("the operator is down")
	r.backend("the operator is down", host, "web:80")
	r.w.running.Restart()
	r.backend("the operator is back", host, "api:80")
	r.still("the operator is back")
	if now := find(t, operators.Hosts, manifests, host); now.GetUID() != declared.GetUID() {
		t.Error("the ProviderHost was deleted and made again")
	}
	if errs := r.w.running.Errors(); len(errs) > 0 {
		t.Errorf("the operators' loops ended: %v", errs)
	}

	must(t, os.Remove(r.file(r.w.green)))
	eventually(t, "a lease is to be released", func() bool {
		return !slices.ContainsFunc(slices.Collect(maps.Keys(r.versions())), func(name string) bool {
			return strings.HasSuffix(name, "/"+other) || strings.HasPrefix(name, "services/") || strings.HasPrefix(name, "leases/ep--")
		})
	})

	// While the operator is down nobody deletes its route, and a claim is kept until that is gone. Each try to give it up marks it.
	r.w.running.Stop()
	kept, marked := find(t, claims, ledger, host), "leases/"+host
	must(t, os.Remove(r.file(r.w.blue)))
	eventually(t, "the ProviderHost is to go", func() bool { return find(t, operators.Hosts, manifests, host) == nil })
	r.still("a lease is over while the operator is down", marked)
	r.w.running.Restart()
	r.still("the operator is back and keeps its route", marked)
	r.backend("the operator is back and keeps its route", host, "api:80")
	if now := find(t, claims, ledger, host); now == nil || now.GetUID() != kept.GetUID() {
		t.Error("the claim was given up while the operator's route served it")
	}
	r.w.repairs("NotDeclared/"+host).Exits(t, 0)
	eventually(t, "the claim is to be given up", func() bool { return len(list(t, claims, "net.akash.network/owner="+r.w.owner)) == 0 })
}
