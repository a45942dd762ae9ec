package report_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/plan"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/report"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/statetest"
)

// Who holds a thing is told as far as it is known.
func TestHeldThing(t *testing.T) {
	since := time.Date(2026, 11, 18, 10, 0, 0, 0, time.FixedZone("", 3600))
	tests := []struct {
		name string
		by   state.Holder
		want string
	}{
		{"by a lease", state.Holder{Owner: statetest.Bob, Lease: statetest.Blog, Namespace: "ns", Since: since},
			"host shop.example.com is held by lease " + statetest.Blog.String() + " in namespace ns since 2026-11-18 09:00:00 UTC"},
		{"by an owner", state.Holder{Owner: statetest.Bob}, "host shop.example.com is held by owner " + statetest.Bob},
		{"by an object of an owner", state.Holder{Owner: statetest.Bob, Object: "ingress ns/web"}, "host shop.example.com is used by ingress ns/web for owner " + statetest.Bob},
		{"by an object", state.Holder{Object: "ingress ns/web", Namespace: "ns"}, "host shop.example.com is used by ingress ns/web"},
		{"by nobody who is known", state.Holder{}, "host shop.example.com is held by somebody else"},
		{"with a reason", state.Holder{Reason: "the claim cannot be read"}, "host shop.example.com is held by somebody else (the claim cannot be read)"},
		{"by the same input, for another owner", state.Holder{Owner: statetest.Bob, Input: "b.yaml:1:1", Since: since},
			"host shop.example.com is wanted by two owners of the same input, by owner " + statetest.Bob + " first (b.yaml:1:1)"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := (report.HeldThing{Kind: state.Host, Thing: "shop.example.com", By: tt.by}).String(); got != tt.want {
				t.Errorf("it says %q, want %q", got, tt.want)
			}
		})
	}
}

// Each error says what is the matter, with whom, and what to do next.
func TestErrorsSayWhatToDo(t *testing.T) {
	group := statetest.Shop.Group()
	conflict := errors.New("conflict on .spec.rules")
	held := func(things ...string) error {
		e := &report.HeldError{Lease: statetest.Shop}
		for _, thing := range things {
			e.Held = append(e.Held, report.HeldThing{Kind: state.Host, Thing: thing, By: state.Holder{Owner: statetest.Bob}})
		}
		return e
	}
	tests := []struct {
		name string
		err  error
		says []string
		not  string
	}{
		{"somebody changes an object all the time", &report.MovingError{Done: "deleted", Kind: "ingress", Namespace: "ns", Name: "web", By: "argocd", Why: "it was modified"}, []string{
			"ingress ns/web could not be deleted: field manager \"argocd\" changes it all the time: it was modified",
			"kubectl -n ns get ingress web -o yaml --show-managed-fields", "run the same command again",
		}, ""},
		{"it is not known who does", &report.MovingError{Done: "written", Kind: "namespace", Name: "ns", Why: "no try was first"}, []string{
			"namespace ns could not be written: no try was first", "kubectl get namespace ns -o yaml --show-managed-fields",
		}, "field manager"},
		{"two hosts are held", held("a.example.com", "b.example.com"), []string{"host a.example.com is held by owner " + statetest.Bob + "; host b.example.com is held by owner " + statetest.Bob}, ""},
		{"what failed could not be taken back", &report.HalfError{Lease: statetest.Shop, Why: errors.New("no answer"), Left: errors.New("host a.example.com is still claimed")},
			[]string{"no answer; host a.example.com is still claimed"}, ""},
		{"no address is left", &report.ExhaustedError{Endpoint: "public", Ranges: []string{"203.0.113.0/31", "198.51.100.1/32"}}, []string{"no address left in 203.0.113.0/31, 198.51.100.1/32", `IP endpoint "public"`}, ""},
		{"the time to wait was over", &report.TimeoutError{After: 90 * time.Second, Waiting: []string{"route a", "route b"}}, []string{"timed out after 1m30s waiting for:\n  route a\n  route b"}, ""},
		{"it was not waited for", &report.TimeoutError{Waiting: []string{"route a"}}, []string{"not waited for:\n  route a"}, "timed out"},
		{"an uninstall is under way", &report.ClosingError{Namespace: "akash-net"}, []string{"ledger in namespace akash-net is being uninstalled", "what this run took was given back", "kubectl akash-net install"}, ""},
		{"an object is being deleted", &report.DeletingError{Object: render.Object{Kind: kinds.Ingress, Namespace: "ns", Name: "web"}, Finalizers: []string{"example.com/slow"}},
			[]string{"ingress/web in namespace ns is being deleted", "example.com/slow", "apply again when it is gone"}, ""},
		{"Akash's provider keeps things", &report.KeptError{Group: group, Kept: []report.KeptThing{
			{Kind: state.Host, Thing: "a.example.com", Declared: true, Objects: []string{"providerhost lease/a.example.com", "ingress ns/a.example.com"}},
			{Kind: state.Host, Thing: "*.example.com", Declared: true, Of: statetest.Shop, Objects: []string{"providerhost lease/x"}},
			{Kind: state.Address, Thing: "203.0.113.1", Of: statetest.Shop, Objects: []string{"service ns/web"}},
		}, Running: []string{"providerhost lease/b.example.com"}}, []string{
			"host a.example.com is kept for lease " + group.String() + ": Akash's provider declares it: providerhost lease/a.example.com, ingress ns/a.example.com\nhost",
			"declares it for lease " + statetest.Shop.String() + ": providerhost lease/x\n  or let its claim follow: kubectl akash-net transfer '*.example.com' --to " + statetest.Shop.String() + "\n",
			"address 203.0.113.1 is kept for lease " + group.String() + ": it is served for lease " + statetest.Shop.String() + ": service ns/web\n  to delete that: kubectl akash-net repair StrayRoute/203.0.113.1\n",
			"what lease " + group.String() + " runs is kept: Akash's provider declares providerhost lease/b.example.com",
			"\nClose the lease at Akash's provider, or take them out of its manifest",
		}, ""},
		{"an operator would choke", &report.OperatorError{Lease: statetest.Shop, Why: "it has no Manifest"}, []string{"lease " + statetest.Shop.String() + ": it has no Manifest. Nothing was changed"}, ""},
		{"an operator would choke on a line", &report.OperatorError{At: lease.Place{File: "deploy.yaml", Line: 2, Column: 7}, Why: "it has no Manifest"}, []string{"deploy.yaml:2:7: lease "}, ""},
		{"a plan of a file is out of date", &report.MovedError{Moved: []string{"host/a", "ingress/b"}}, []string{"host/a, ingress/b changed since it was made", "kubectl akash-net diff -f FILE -o json"}, "LEASE"},
		{"a plan of a kept definition is out of date", &report.MovedError{Moved: []string{"host/a"}, Kept: true}, []string{"kubectl akash-net diff LEASE -o json"}, "FILE"},
		{"two pools overlap", &report.PoolOverlapError{Pool: "administrators", Wanted: "akash-ip", Addresses: "203.0.113.0/24"},
			[]string{"IPAddressPool administrators has 203.0.113.0/24", "overlaps the pool akash-ip", "no tenant an address", "Take the addresses out of one of them, or use ip.mode: pool"}, ""},
		{"another run has taken a host", &report.OvertakenError{Kind: state.Host, Thing: "a.example.com"}, []string{"host a.example.com was released and taken anew", "taken back", "Apply again: kubectl akash-net explain a.example.com"}, ""},
		{"somebody manages fields with other values", &report.ConflictError{Object: "ingress/web", Managers: []string{"helm", "kubectl"}, Differs: true, Err: conflict},
			[]string{"ingress/web: fields are managed by helm, kubectl, with other values: conflict on .spec.rules", "Nothing is forced. Let that manager drop the fields, and apply again"}, "--force-conflicts"},
		{"somebody has set fields by hand", &report.ConflictError{Object: "ingress/web", Managers: []string{"kubectl-edit"}, Differs: true, ByHand: true, Err: conflict, Fields: []plan.Field{
			{Path: plan.Path{"spec", "ingressClassName"}, Before: "traefik", After: "akash-ingress-class", Owners: []plan.Owner{{Manager: "kubectl-edit", Since: time.Date(2026, 11, 27, 9, 0, 0, 0, time.UTC)}}},
			{Path: plan.Path{"metadata", "annotations", "a/b"}, Before: "1", After: "2", Owners: []plan.Owner{{Manager: "kubectl-edit"}, {Manager: "kubectl-patch"}}},
		}}, []string{"ingress/web: fields are managed by kubectl-edit, with other values:\n  .spec.ingressClassName: \"traefik\", set by kubectl-edit since 2026-11-27 09:00:00 UTC; the lease wants \"akash-ingress-class\"\n",
			"\n  .metadata.annotations.a/b: \"1\", set by kubectl-edit, kubectl-patch; the lease wants \"2\"\n",
			"Nothing is forced. To take these fields back: kubectl akash-net apply -f FILE --force-conflicts"}, "Apply failed"},
		{"somebody manages fields with more in them", &report.ConflictError{Object: "ingress/web", Managers: []string{"helm"}, Err: conflict}, []string{"managed by helm, with the wanted values and more beside them"}, "other values"},
		{"a lease failed", &report.LeaseError{Lease: group, Err: errors.New("no answer")}, []string{"lease " + group.String() + ": no answer"}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, text := range tt.says {
				if !strings.Contains(tt.err.Error(), text) {
					t.Errorf("%q does not say %q", tt.err, text)
				}
			}
			if tt.not != "" && strings.Contains(tt.err.Error(), tt.not) {
				t.Errorf("%q says %q", tt.err, tt.not)
			}
		})
	}
}

// The reason for an error is found in what tells of it, so that a command can end with its exit code.
func TestErrorsTellTheirReason(t *testing.T) {
	why := errors.New("why")
	for name, err := range map[string]error{
		"half": &report.HalfError{Why: why, Left: errors.New("left")}, "of a lease": &report.LeaseError{Err: why}, "conflict": &report.ConflictError{Err: why},
		"one of several": report.Failures{errors.New("another"), why},
	} {
		if !errors.Is(err, why) {
			t.Errorf("%s: the reason is not found", name)
		}
	}
}

// The errors of several leases are one list, whatever they were gathered from.
func TestGather(t *testing.T) {
	a, b, c := errors.New("a"), errors.New("b"), errors.New("c")
	tests := []struct {
		name string
		errs []error
		want string
	}{
		{"none failed", []error{nil, nil}, ""},
		{"one failed", []error{nil, a}, "a"},
		{"two failed", []error{a, nil, b}, "a\nb"},
		{"one with several errors", []error{report.Failures{a, b}, c}, "a\nb\nc"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := report.Gather(tt.errs)
			if err == nil {
				if tt.want != "" {
					t.Errorf("no error, want %q", tt.want)
				}
				return
			}
			fs, ok := errors.AsType[report.Failures](err)
			if !ok || err.Error() != tt.want || len(fs) != strings.Count(tt.want, "\n")+1 {
				t.Errorf("got %d errors: %q, want %q", len(fs), err, tt.want)
			}
		})
	}
	if report.ErrorOfHeld(statetest.Shop, nil) != nil {
		t.Error("nothing is held, and there is an error")
	}
}
