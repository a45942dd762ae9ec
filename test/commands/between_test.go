package commands

import (
	"net/http"
	"net/http/httputil"
	"sync"
	"testing"

	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// behind is a connection that lets a function run before its first write is sent.
func behind(t *testing.T, then func()) (kubeconfig string) {
	var once sync.Once
	return harness.Kubeconfig(t, harness.Proxy(t, harness.Plane.Config, func(p *httputil.ReverseProxy) {
		next := p.Transport
		p.Transport = roundTripper(func(r *http.Request) (*http.Response, error) {
			if r.Method != http.MethodGet {
				once.Do(then)
			}
			return next.RoundTrip(r)
		})
	}))
}

// Two people apply two definitions of one lease, and all that the first does falls between what the second reads and its
// first write. The second has nobody to wait for, and what it has read is old all the same: in the end the lease runs the
// second definition, all of it, and has reserved what that asks for.
func TestAnotherApplyBetweenReadAndWrite(t *testing.T) {
	for name, drift := range map[string]func(t *testing.T, x *tenant){
		"the reservation is the first write": func(t *testing.T, x *tenant) {
			harness.Run(t.Context(), "reserve", "--order", x.Order().String(), "-f", x.sdl(t), "--expires", "5m").Exits(t, 0)
		},
		"an object is": func(t *testing.T, x *tenant) {
			if err := harness.Kubectl(t.Context(), "", nil, "-n", x.Namespace(), "delete", "service", "cache"); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			harness.Node(t, "between-1", nil, harness.Amounts("16", "64Gi"))
			first, x := newDeployer(), newDeployer()
			first.ID, first.host = x.ID, x.host
			first.web("web:1").cache(disk, "").with("watch", "image: 'watcher:1', expose: [{port: 9000, to: [{service: web}]}]", disk, 3)
			x.web("web:2").cache(disk, "")
			x.apply(t)
			drift(t, x)
			at := behind(t, func() { first.apply(t) })
			silent(t, harness.RunAs(t.Context(), at, x.args(t, "apply", "--wait=false")...)).Exits(t, 0)
			x.do(t, 0, "diff")
		})
	}
}

// So it is with the routes alone, and with a release in between.
func TestAnotherCommandBetweenReadAndWrite(t *testing.T) {
	for name, between := range map[string]func(t *testing.T, x *tenant, plain func(x *tenant, verb string) []string){
		"an apply": func(t *testing.T, x *tenant, plain func(x *tenant, verb string) []string) {
			first := newDeployer()
			first.ID, first.host = x.ID, x.host
			first.with("other", "image: other, expose: [{port: 81, as: 80, accept: ["+x.host+", a-"+x.host+", b-"+x.host+"], to: [{global: true}]}]", disk, 1)
			harness.Run(t.Context(), plain(first, "apply")...).Exits(t, 0)
		},
		"a release": func(t *testing.T, x *tenant, plain func(x *tenant, verb string) []string) {
			harness.Run(t.Context(), "release", x.String()).Exits(t, 0)
		},
	} {
		t.Run(name, func(t *testing.T) {
			x := newDeployer()
			x.with("web", "image: web, expose: [{port: 80, accept: ["+x.host+", a-"+x.host+", b-"+x.host+"], to: [{global: true}]}]", disk, 1)
			plain := func(x *tenant, verb string) []string {
				return []string{verb, "-f", x.sdl(t), "--lease", x.String()}
			}
			harness.Run(t.Context(), plain(x, "apply")...).Exits(t, 0)
			if err := harness.Kubectl(t.Context(), "", nil, "-n", x.Namespace(), "delete", "ingress", "a-"+x.host); err != nil {
				t.Fatal(err)
			}
			at := behind(t, func() { between(t, x, plain) })
			harness.RunAs(t.Context(), at, plain(x, "apply")...).Exits(t, 0)
			harness.Run(t.Context(), plain(x, "diff")...).Exits(t, 0)
		})
	}
}
