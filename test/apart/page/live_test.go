package page_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/apply/book"
	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/reconcile/page"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/view"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

const configuration = `apiVersion: net.akash.network/v1alpha1
kind: ProviderConfig
metadata: {name: provider}
spec:
  ip: {mode: range, ranges: [203.0.113.0/28]}
`

// serveCluster serves the page of the control plane, which follows what the book watches.
func serveCluster(t *testing.T) (url string) {
	t.Helper()
	cfg, problems, err := config.Read(strings.NewReader(configuration), "provider.yaml")
	if err != nil || len(problems) > 0 {
		t.Fatal(err, problems)
	}
	c, err := cluster.Connect(harness.Plane.Config, 16)
	if err != nil {
		t.Fatal(err)
	}
	reader := &page.Reader{Cluster: c, Config: cfg, CrashedAfter: time.Millisecond} // what is not served for so long is a problem
	p, url := serve(t, &made{read: reader.Read})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = book.Watch(ctx, c, cfg, view.Holdings, func(*view.Book) error { p.Changed(); return nil })
	}()
	t.Cleanup(func() { cancel(); <-ended })
	return url
}

// What somebody applies appears on the open page, without a reload. What is deleted by hand becomes a problem, and the command that the
// page shows mends it.
func TestOnACluster(t *testing.T) {
	b := open(t, desk, "light")
	b.visit(serveCluster(t))
	b.is(`window.stays = true`)
	b.shows("#problems", "No problems were found.")
	b.is(`document.querySelectorAll(".cells .free").length === 16`)

	id, host := harness.LeaseOf(harness.NewOwner(t), 8438017), harness.NewHost("shop")
	definition := harness.Define(t, id, []string{
		"{name: web, expose: [{port: 80, as: 80, global: true, hosts: [" + host + "]}, {port: 8443, as: 443, global: true, ip: front}]}",
	}, []string{"{name: front}"})
	harness.Run(t.Context(), "apply", "-f", definition, "--wait=false").Exits(t, 0)
	b.until(`document.getElementById("host/` + host + `") !== null`)
	b.until(`document.querySelectorAll(".cells .active").length === 1`)
	b.until(`document.querySelector("#leases tr[id]")?.id === "lease/` + id.String() + `"`)
	b.is(`window.stays`)

	harness.Remove(t, kinds.Ingress.Resource(), id.Namespace(), host)
	b.until(`document.getElementById("problems").innerText.includes("` + host + `")`)
	command := get[string](b, `[...document.querySelectorAll("#problems li")].find(p => p.innerText.includes("`+host+`")).querySelector(".copy").dataset.copy`)
	args, ok := strings.CutPrefix(command, "kubectl akash-net ")
	if !ok {
		t.Fatalf("it is mended by %q", command)
	}
	harness.Run(t.Context(), append(strings.Fields(args), "--crashed-after=0s", "--assume-crashed")...).Exits(t, 0)
	b.until(`!document.getElementById("problems").innerText.includes("` + host + `")`)

	harness.Edit(t, "kubectl-edit", cluster.Leases, "akash-net", host, func(o *unstructured.Unstructured) {
		a := o.GetAnnotations()
		a[state.AnnotationLedger] = "<script>window.harm=1</script>\u202e"
		o.SetAnnotations(a)
	})
	b.until(`document.getElementById("hosts").innerText.includes("<script>window.harm=1</script>\\u202e")`)
	b.is(`window.harm === undefined && document.querySelectorAll("script").length === 1 && window.stays`)
}
