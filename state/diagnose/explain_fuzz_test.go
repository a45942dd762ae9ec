package diagnose

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/statetest"
	"github.com/akash-net/kubectl-akash-net/state/view"
)

// Arbitrary claims are explained and searched for problems.
func FuzzOddClaims(f *testing.F) {
	id := shop.String()
	f.Add("a.example.com", "host", "akash1a", "v1", "", state.RouteKey("/"), `{"lease":"`+id+`","path":"/","service":"web","port":80}`)
	f.Add("ip--203-0-113-7", "address", "akash1a", "v1", "k", state.WholeAddress, `{"lease":"`+id+`","from":"`+id+`"}`)
	f.Add("wc--any.example.com", "", "akash1b", "v2", "k", state.RouteKey("/"), `[]`)
	f.Fuzz(func(_ *testing.T, name, kind, owner, version, sharingKey, key, value string) {
		c, ok := state.ReadClaim(&metav1.ObjectMeta{Name: name, Labels: map[string]string{state.LabelKind: kind, state.LabelOwner: owner},
			Annotations: map[string]string{state.AnnotationLedger: version, state.AnnotationSharingKey: sharingKey, key: value}})
		if name == "" || !ok {
			return
		}
		contents, cfg := view.Contents{Claims: []*state.Claim{&c}, Now: statetest.Minute(1)}, config.Default()
		facts := Facts{Config: cfg, Book: view.NewBook(cfg, contents, view.Subjects...), Contents: contents, Now: contents.Now}
		_, _, _ = NewWorld(facts).Host(c.Thing), NewWorld(facts).IP(c.Addr()), Problems(facts)
	})
}
