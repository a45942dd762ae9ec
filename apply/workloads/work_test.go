package workloads

import (
	"strings"
	"testing"

	"github.com/akash-net/kubectl-akash-net/lease"
)

// The error says of each object whose it is, and what may be done about that kind.
func TestTakenError(t *testing.T) {
	foreign := Taken{Object: "deployment/web", Namespace: "ns", Managers: []string{"helm", "kubectl"}}
	akashs := Taken{Object: "service/web", Namespace: "ns", Managers: []string{"provider-services"}, Adoptable: true}
	unknown := Taken{Object: "secret/x", Namespace: "ns"}
	for _, tt := range []struct {
		name     string
		taken    []Taken
		has, not []string
	}{
		{"somebody else's", []Taken{foreign}, []string{"deployment/web in namespace ns: written by helm, kubectl, without the labels of the lease", "rename the service"}, []string{"--adopt"}},
		{"Akash's", []Taken{akashs}, []string{"service/web in namespace ns: written by provider-services\n", "--adopt"}, []string{"rename"}},
		{"both", []Taken{foreign, akashs}, []string{"2 objects", "--adopt", "rename"}, nil},
		{"nobody's", []Taken{unknown}, []string{"nobody says who has written it", "Nothing was changed"}, []string{"--adopt"}},
	} {
		text := (&TakenError{Lease: lease.ID{Owner: "o"}, Taken: tt.taken}).Error()
		for _, has := range tt.has {
			if !strings.Contains(text, has) {
				t.Errorf("%s has no %q: %s", tt.name, has, text)
			}
		}
		for _, not := range tt.not {
			if strings.Contains(text, not) {
				t.Errorf("%s has %q: %s", tt.name, not, text)
			}
		}
	}
}
