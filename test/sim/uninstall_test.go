package sim

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
)

const ledgerLeases = "/apis/coordination.k8s.io/v1/namespaces/akash-net/leases"

// isOpen fails the test unless a command may claim something, and no problem is left.
func (o *outside) isOpen(t *testing.T) {
	t.Helper()
	id := allLeases()[0]
	o.must(t, 0, []string{"reserve", "a.example.org", "--lease", id.String()})
	o.must(t, 0, []string{"release", id.Group().String()})
	o.must(t, 0, []string{"state", "--problems"}, "No problems")
}

// An uninstall that ends with an error opens the ledger again, whichever of its requests fails.
func TestUninstallThatFailsOpensTheLedger(t *testing.T) {
	t.Parallel()
	o := fromOutside(t)
	for fails := 1; ; fails++ {
		n, failed := 0, ""
		o.each(func(request string) int {
			if n++; n == fails && !strings.HasPrefix(request, "GET configmaps/") {
				failed = request
				return http.StatusForbidden
			}
			return 0
		})
		code, out := o.run(t.Context(), "uninstall")
		if o.each(nil); n < fails {
			break
		}
		if failed != "" && code != 1 && !strings.Contains(out, "deleted") {
			t.Errorf("after a refusal of %s: exit code %d\n%s", failed, code, out)
		}
		if t.Logf("%d: %s: exit code %d", fails, failed, code); strings.HasPrefix(failed, "DELETE leases/run--") || strings.Contains(out, "may still be closed") {
			if !strings.Contains(out, "kubectl akash-net install") {
				t.Errorf("what cannot be opened again is not said:\n%s", out)
			}
			o.must(t, 0, []string{"repair", "--assume-crashed", "--crashed-after=0s"}, "CrashedRun/run--", "repaired (open the ledger again")
		}
		o.isOpen(t)
	}
}

// An announcement that cannot be read makes an uninstall fail, and keeps the ledger open.
func TestUninstallBesideAnUnreadableAnnouncement(t *testing.T) {
	t.Parallel()
	o := fromOutside(t)
	o.send(t, http.MethodPost, ledgerLeases, "application/json", `{"apiVersion":"coordination.k8s.io/v1","kind":"Lease",
		"metadata":{"name":"run--x","namespace":"akash-net","labels":{"`+state.LabelKind+`":"run","`+state.LabelOwner+`":"run"}}}`)
	o.must(t, 1, []string{"uninstall"}, "run x, whose announcement cannot be read")
	o.send(t, http.MethodDelete, ledgerLeases+"/run--x", "application/json", `{}`)
	o.isOpen(t)
}

// killUninstall runs an uninstall of which no request arrives after it has marked the namespace, and returns its nonce.
func (o *outside) killUninstall(t *testing.T) (nonce string) {
	t.Helper()
	dead := false
	o.each(func(request string) int {
		if name, ok := strings.CutPrefix(request, "PATCH leases/"); ok && !dead {
			nonce, _ = state.AnnouncedNonce(name)
		}
		if dead {
			return http.StatusForbidden
		}
		dead = request == "PATCH namespaces/akash-net"
		return 0
	})
	o.must(t, 1, []string{"uninstall"}, "may still be closed", "kubectl akash-net install")
	o.each(nil)
	return nonce
}

// An uninstall that begins, ends or deletes the ledger while problems are read is no problem: the mark and the
// announcements that were read are of different moments.
func TestUninstallWhileProblemsAreRead(t *testing.T) {
	t.Parallel()
	for name, meanwhile := range map[string]func(o *outside, announcement string){
		"it begins": func(o *outside, announcement string) {
			o.send(t, http.MethodPost, ledgerLeases, "application/json", announcement)
		},
		"it ends": func(o *outside, _ string) {
			o.send(t, http.MethodPatch, "/api/v1/namespaces/akash-net", "application/merge-patch+json",
				`{"metadata":{"annotations":{"`+lease.AnnotationClosing+`":null}}}`)
		},
		"it deletes the ledger": func(o *outside, _ string) {
			o.send(t, http.MethodDelete, "/api/v1/namespaces/akash-net", "application/json", `{}`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := fromOutside(t)
			object := state.AnnouncementName(o.killUninstall(t))
			i := slices.IndexFunc(o.Objects("leases"), func(l *unstructured.Unstructured) bool { return l.GetName() == object })
			announcement := o.Objects("leases")[i].DeepCopy()
			announcement.SetResourceVersion("")
			announcement.SetUID("")
			body, err := announcement.MarshalJSON()
			if err != nil {
				t.Fatal(err)
			}
			o.send(t, http.MethodDelete, ledgerLeases+"/"+object, "application/json", `{}`)
			var once sync.Once
			o.each(func(request string) int {
				if request == "GET leases/"+object {
					once.Do(func() { meanwhile(o, string(body)) })
				}
				return 0
			})
			o.must(t, 0, []string{"state", "--problems"}, "No problems")
		})
	}
}

// An uninstall that was killed is a problem once it has not renewed its announcement in time, and repair opens the ledger.
// So is a mark on the namespace alone.
func TestKilledUninstall(t *testing.T) {
	t.Parallel()
	for name, leave := range map[string]func(o *outside, nonce string){
		"announced": func(o *outside, nonce string) {
			o.send(t, http.MethodPatch, ledgerLeases+"/"+state.AnnouncementName(nonce), "application/merge-patch+json",
				`{"spec":{"renewTime":"2020-01-01T00:00:00.000000Z"}}`)
		},
		"only marked": func(o *outside, nonce string) {
			o.send(t, http.MethodDelete, ledgerLeases+"/"+state.AnnouncementName(nonce), "application/json", `{}`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := fromOutside(t)
			nonce := o.killUninstall(t)
			if leave(o, nonce); !slices.ContainsFunc(o.Objects("namespaces"), func(n *unstructured.Unstructured) bool {
				return n.GetAnnotations()[lease.AnnotationClosing] == nonce
			}) {
				t.Fatal("the ledger is open")
			}
			o.must(t, 1, []string{"reserve", "a.example.org", "--lease", allLeases()[0].String()}, "is being uninstalled", "kubectl akash-net install")
			o.must(t, 1, []string{"state", "--problems"}, "CrashedRun", state.AnnouncementName(nonce), "open the ledger again")
			o.must(t, 0, []string{"repair"}, "CrashedRun/"+state.AnnouncementName(nonce)+" repaired")
			o.isOpen(t)
		})
	}
}
