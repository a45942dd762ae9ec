package sim

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/akash-net/kubectl-akash-net/apply"
	"github.com/akash-net/kubectl-akash-net/apply/command"
	"github.com/akash-net/kubectl-akash-net/apply/diagnosis"
	"github.com/akash-net/kubectl-akash-net/apply/repair"
	"github.com/akash-net/kubectl-akash-net/engine/report"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
)

// scene is a cluster in memory, in which commands run one after the other.
type scene struct {
	*testing.T
	server *Server
	opts   command.Options
	events []string
}

func newScene(t *testing.T) *scene {
	t.Helper()
	s := &scene{T: t, server: furnished(t)}
	s.opts = command.Options{Config: settings(), Prune: true, Concurrency: 1, Report: func(e report.Event) {
		s.events = append(s.events, fmt.Sprintf("%s/%s %s (%s)", e.Kind, e.Name, e.Action, e.Message))
	}}
	return s
}

// run runs a command some minutes after the last one, and returns what it has reported.
func (s *scene) run(do func(a *apply.Applier) error, change ...func(*command.Options)) (told string, err error) {
	time.Sleep(10 * time.Minute)
	s.events = nil
	opts := s.opts
	for _, c := range change {
		c(&opts)
	}
	err = do(apply.New(connected(s.T, s.server.RoundTrip), opts))
	return strings.Join(s.events, "\n"), err
}

// must runs a command that must end well.
func (s *scene) must(do func(a *apply.Applier) error, change ...func(*command.Options)) string {
	s.Helper()
	told, err := s.run(do, change...)
	if err != nil {
		s.Fatal(err)
	}
	return told
}

func (s *scene) apply(id lease.ID, endpoint bool, hosts ...string) {
	s.Helper()
	s.must(func(a *apply.Applier) error {
		return a.Apply(s.Context(), []*lease.Definition{(&invocation{id: id, hosts: hosts, endpoint: endpoint}).definition()})
	})
}

// repair runs repair, whose problems may stay.
func (s *scene) repair(change ...func(*command.Options)) string {
	s.Helper()
	told, err := s.run(func(a *apply.Applier) error {
		return repair.Repair(s.Context(), a, repair.Options{CrashedAfter: crash})
	}, change...)
	if left := (*repair.Unmended)(nil); err != nil && !errors.As(err, &left) {
		s.Fatal(err)
	}
	return told
}

// problems are the problems now, as PROBLEM/THING.
func (s *scene) problems() []string {
	s.Helper()
	time.Sleep(10 * time.Minute)
	found, err := diagnosis.Problems(s.Context(), connected(s.T, s.server.RoundTrip), s.opts.Config, crash, "")
	if err != nil {
		s.Fatal(err)
	}
	names := []string{}
	for _, p := range found {
		names = append(names, p.Name())
	}
	return names
}

// everything is what all objects of all tenants say, by their names: parts of claims, specs, labels. Parts of beside are
// left out.
func (s *scene) everything(beside ...lease.ID) map[string]string {
	out := map[string]string{}
	for _, plural := range []string{"leases", "namespaces", "ingresses", "services", "providerhosts", "providerleasedips"} {
		for _, o := range s.server.Objects(plural) {
			if state.IsAnnouncement(o.GetName()) {
				continue
			}
			says := map[string]any{"spec": o.Object["spec"], "labels": o.GetLabels()}
			if c, ok := state.ReadClaim(&metav1.ObjectMeta{Name: o.GetName(), Labels: o.GetLabels(), Annotations: o.GetAnnotations()}); ok {
				for _, p := range c.Parts {
					p.Run, p.LeaseText = "", p.Lease.String() // the mark means nothing once its run has ended
					if !slices.Contains(beside, p.Lease) {
						says[p.Key] = p
					}
				}
			}
			text, err := json.Marshal(says)
			if err != nil {
				s.Fatal(err)
			}
			out[plural+" "+o.GetNamespace()+"/"+o.GetName()] = string(text)
		}
	}
	return out
}

// send sends a request that must succeed.
func (s *scene) send(method, path, body string) {
	s.Helper()
	r, err := http.NewRequestWithContext(s.Context(), method, "http://sim"+path, strings.NewReader(body))
	if err != nil {
		s.Fatal(err)
	}
	if method == http.MethodPatch {
		r.Header.Set("Content-Type", string(types.MergePatchType))
	}
	response, err := s.server.RoundTrip(r) //nolint:bodyclose // it is in memory
	if err != nil || response.StatusCode >= http.StatusBadRequest {
		s.Fatalf("%s %s: %v %v", method, path, err, response)
	}
}
