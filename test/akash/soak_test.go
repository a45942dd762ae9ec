package akash_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state/kept"
	"github.com/akash-net/kubectl-akash-net/test/akash/operators"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// Twenty leases of five owners live beside a provider that deploys, updates, drops, moves and closes them, several at once, while
// reconcilers follow its Manifests, beside its operators and in their place, each killed and restarted in turn. When all is still the claims
// are those that the Manifests name, none too many and none missing; nothing of a closed lease is left, nothing fails, no operator ignores a
// lease, and no route was deleted while it was declared. SOAK says for how long, half of it for each.
func TestSoakOfLeases(t *testing.T) {
	length, err := time.ParseDuration(cmp.Or(os.Getenv("SOAK"), "0s"))
	if err != nil || length == 0 {
		t.Skip("only at length: make soak")
	}
	for _, beside := range []bool{true, false} {
		t.Run(map[bool]string{true: "beside the operators", false: "in their place"}[beside], func(t *testing.T) {
			o, spec := pooled(t, "")
			s := &leaseSoak{T: t, beside: beside, config: file(t, "apiVersion: net.akash.network/v1alpha1\nkind: ProviderConfig\nmetadata: {name: soak}\nspec: "+spec+"\n")}
			for range 5 {
				owner := &tenantOfSoak{owner: newTenant(t), holder: map[string]lease.ID{}, named: map[lease.ID][]string{}, ports: map[lease.ID]bool{}}
				for n := range uint64(4) {
					owner.leases = append(owner.leases, leaseOf(owner.owner, n+1))
				}
				for range 5 {
					owner.hosts = append(owner.hosts, newHost("soak"))
				}
				s.owners = append(s.owners, owner)
			}
			if s.provider, err = operators.NewProvider(harness.Plane.Config, ""); err != nil {
				t.Fatal(err)
			}
			if beside {
				deploy(t, "operator-hostname", "operator-ip")
			}
			s.running, _ = start(t, o)
			if !beside {
				s.running.Stop()
			}
			s.live(length / 2)
		})
	}
}

// tenantOfSoak is an owner, as Akash's provider knows it: which lease has which host, what each Manifest names, and which lease has the port.
type tenantOfSoak struct {
	owner string
	// leases are those that live or may, past those that were closed.
	leases, past []lease.ID
	hosts        []string
	holder       map[string]lease.ID
	named        map[lease.ID][]string
	ports        map[lease.ID]bool
}

// leaseSoak is a soak under way.
type leaseSoak struct {
	*testing.T
	beside   bool
	config   string
	owners   []*tenantOfSoak
	provider operators.Provider
	running  *operators.Operators

	mu     sync.Mutex
	counts map[string]int
	faults []string
	// declared is for which lease a host is declared and since when, routed since when a lease's route of it is gone; gap is the longest.
	declared map[string]declaredHost
	gone     map[string]time.Time
	gap      time.Duration
}

type declaredHost struct {
	lease lease.ID
	since time.Time
}

// live lets all live for a time, and judges the end.
func (s *leaseSoak) live(length time.Duration) {
	s.counts, s.declared, s.gone = map[string]int{}, map[string]declaredHost{}, map[string]time.Time{}
	s.watches(operators.Hosts, s.seeHost)
	s.watches(operators.Ingresses, s.seeRoute)
	ends := make(chan struct{})
	var all sync.WaitGroup
	all.Go(func() { s.reconciles(ends) })
	if s.beside {
		all.Go(func() { s.restarts(ends) })
	}
	for i, owner := range s.owners {
		all.Go(func() { s.tenant(owner, rand.New(rand.NewPCG(uint64(i), 39)), ends) })
	}
	time.Sleep(length)
	close(ends)
	all.Wait()
	r := s.reconciler()
	defer r()
	if s.beside {
		s.running.Restart()
	}
	s.tidies()
	said, still := "", time.Now()
	deadline := still.Add(4 * time.Minute) // a reconciler that follows a killed one waits until its lock has ended, and for leases that fail
	for wrong := s.wrong(); len(wrong) > 0; wrong = s.wrong() {
		if said = strings.Join(wrong, "\n"); time.Now().After(deadline) {
			s.Errorf("it does not come to rest:\n%s", said)
			break
		}
		time.Sleep(time.Second)
	}
	if s.beside && len(s.running.Ignored()) > 0 {
		s.Errorf("the operators ignore %v", s.running.Ignored())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, fault := range s.faults {
		s.Error(fault)
	}
	s.Logf("%v; at rest after %s; the longest gap of a declared host was %s", s.counts, time.Since(still).Round(time.Second), s.gap.Round(time.Second))
}

func (s *leaseSoak) count(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts[what]++
}

// pause waits a random time, unless the soak ends.
func pause(random *rand.Rand, most time.Duration, ends <-chan struct{}) bool {
	select {
	case <-ends:
		return false
	case <-time.After(time.Duration(random.Int64N(int64(most)))):
		return true
	}
}

// reconciler starts a reconciler. It returns what kills it.
func (s *leaseSoak) reconciler() (kill func()) {
	cmd := harness.Command(context.WithoutCancel(s.Context()), reconciler, "reconcile", "--watch", "--from-cluster", "--heal", "--assume-serving", "--config", s.config)
	ended := harness.Start(cmd)
	return func() {
		_ = cmd.Process.Signal(syscall.SIGKILL)
		if r := ended(); strings.Contains(r.Stderr+r.Stdout, "panic:") {
			s.Error(r)
		} else if path := os.Getenv("SOAK_LOG"); path != "" {
			_ = os.WriteFile(fmt.Sprint(path, "-", time.Now().UnixNano()), []byte(r.String()), 0o600)
		}
	}
}

// reconciles lets two reconcilers work, of which one is killed and replaced now and then.
func (s *leaseSoak) reconciles(ends <-chan struct{}) {
	random := rand.New(rand.NewPCG(1, 40))
	two := []func(){s.reconciler(), s.reconciler()}
	for pause(random, 30*time.Second, ends) {
		n := random.IntN(2)
		two[n]()
		two[n] = s.reconciler()
		s.count("reconcilers killed")
	}
	for _, kill := range two {
		kill()
	}
}

// restarts restarts the operators, which are down for a while before some of the times.
func (s *leaseSoak) restarts(ends <-chan struct{}) {
	random := rand.New(rand.NewPCG(2, 40))
	for pause(random, 20*time.Second, ends) {
		if random.IntN(2) == 0 {
			s.running.Stop()
			pause(random, 4*time.Second, ends)
		}
		s.running.Restart()
		s.count("operators restarted")
	}
}

// tenant lets an owner's leases live.
func (s *leaseSoak) tenant(o *tenantOfSoak, random *rand.Rand, ends <-chan struct{}) {
	for pause(random, 3*time.Second, ends) {
		id, host := o.leases[random.IntN(len(o.leases))], o.hosts[random.IntN(len(o.hosts))]
		var err error
		switch what := random.IntN(10); {
		case what < 4 || o.named[id] == nil: // deploys, or updates: adds a host, drops one, changes the service
			named := slices.Clone(o.named[id])
			if i := slices.Index(named, host); i >= 0 && len(named) > 1 {
				named = slices.Delete(named, i, i+1)
			} else if i < 0 {
				named = append(named, host)
			}
			o.ports[id] = o.ports[id] || random.IntN(3) == 0
			err = s.deploys(o, id, named, random.IntN(3) == 0)
			s.count("deployed")
		case what < 7: // moves a host to it
			if from, held := o.holder[host]; held && from != id {
				err = s.moves(o, id, host)
				s.count("moved")
			}
		default:
			closing := []lease.ID{id}
			if random.IntN(3) == 0 {
				closing = slices.DeleteFunc(slices.Clone(o.leases), func(lease.ID) bool { return random.IntN(2) == 0 })
			}
			var all sync.WaitGroup
			for _, id := range closing {
				if o.named[id] == nil {
					continue
				}
				all.Go(func() {
					if err := s.closes(id); err != nil {
						s.Error(err)
					}
				})
				s.count("closed")
			}
			all.Wait()
			for _, id := range closing {
				if o.named[id] != nil {
					o.forget(id)
				}
			}
		}
		if err != nil {
			s.Error(err)
		}
	}
}

// forget puts a new lease in the place of one that is closed.
func (o *tenantOfSoak) forget(id lease.ID) {
	o.past = append(o.past, id)
	o.leases[slices.Index(o.leases, id)] = leaseOf(o.owner, uint64(len(o.leases)+len(o.past)))
	delete(o.named, id)
	delete(o.ports, id)
	maps.DeleteFunc(o.holder, func(_ string, holder lease.ID) bool { return holder == id })
}

// deployment is what the Manifest of a lease says.
func (o *tenantOfSoak) deployment(id lease.ID, named []string, api bool) operators.Deployment {
	var ports []string
	if o.ports[id] {
		ports = append(ports, fmt.Sprintf("public:TCP:%d:web", 7000+id.DSeq))
	}
	d := workload(id, named, ports...)
	if api {
		d = routedTo(d, "api")
	}
	return d
}

// again does what the provider tries again: its writes of whole objects meet those of others.
func again(do func() error) (err error) {
	for range 20 {
		if err = do(); err == nil {
			return nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	return err
}

// deploys does what a tenant's manifest makes the provider do. Hosts of another lease of the owner are withheld.
func (s *leaseSoak) deploys(o *tenantOfSoak, id lease.ID, named []string, api bool) error {
	ctx, service := s.Context(), map[bool]string{false: "web", true: "api"}[api]
	before := o.named[id]
	if err := again(func() error { return s.provider.SendManifest(ctx, o.deployment(id, named, api)) }); err != nil {
		return fmt.Errorf("a manifest of %s: %w", id, err)
	}
	o.named[id] = named
	for _, host := range named {
		if holder, held := o.holder[host]; held && holder != id {
			continue
		}
		o.holder[host] = id
		if err := again(func() error { return s.provider.DeclareHostname(ctx, id, host, service, 80) }); err != nil {
			return err
		}
	}
	if o.ports[id] {
		err := again(func() error {
			err := s.provider.DeclareIP(ctx, id, "web", 9000, uint16(7000+id.DSeq), "TCP", lease.SharingKey(o.owner, "public"), false)
			if errors.Is(err, operators.ErrAlreadyExists) {
				return nil
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	for _, host := range before {
		if !slices.Contains(named, host) && o.holder[host] == id {
			delete(o.holder, host)
			if err := s.provider.PurgeDeclaredHostname(ctx, id, host); err != nil {
				return err
			}
		}
	}
	return nil
}

// moves sends a manifest that names a host of another lease, and migrates the host.
func (s *leaseSoak) moves(o *tenantOfSoak, id lease.ID, host string) error {
	named := o.named[id]
	if !slices.Contains(named, host) {
		named = append(slices.Clone(named), host)
	}
	if err := s.deploys(o, id, named, false); err != nil {
		return err
	}
	o.holder[host] = id
	return again(func() error { return s.provider.TransferHostname(s.Context(), id, host, "web", 80) })
}

// closes ends a lease in the order of the provider.
func (s *leaseSoak) closes(id lease.ID) error {
	ctx := s.Context()
	return again(func() error { return s.provider.CloseLease(ctx, id) })
}

// watches passes each change of a resource to see, in their order, until the test ends.
func (s *leaseSoak) watches(resource schema.GroupVersionResource, see func(o *unstructured.Unstructured, gone bool)) {
	all, err := harness.Objects.Resource(resource).List(s.Context(), metav1.ListOptions{})
	must(s.T, err)
	from := &cache.ListWatch{WatchFuncWithContext: func(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
		return harness.Objects.Resource(resource).Watch(ctx, opts)
	}}
	events, err := watchtools.NewRetryWatcherWithContext(s.Context(), all.GetResourceVersion(), from)
	must(s.T, err)
	go func() {
		for e := range events.ResultChan() {
			if o, ok := e.Object.(*unstructured.Unstructured); ok && s.isOurs(o) {
				see(o, e.Type == watch.Deleted)
			}
		}
	}()
}

func (s *leaseSoak) isOurs(o *unstructured.Unstructured) bool {
	return slices.ContainsFunc(s.owners, func(of *tenantOfSoak) bool { return of.owner == o.GetLabels()[lease.LabelOwner] })
}

// seeHost sees a ProviderHost.
func (s *leaseSoak) seeHost(o *unstructured.Unstructured, gone bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id, _ := lease.IDFromLabels(o.GetLabels())
	if was, known := s.declared[o.GetName()]; gone {
		delete(s.declared, o.GetName())
	} else if !known || was.lease != id {
		s.declared[o.GetName()] = declaredHost{id, time.Now()}
	}
}

// seeRoute sees an Ingress. One that goes while its host has long been declared for its lease is a fault, unless the lease is being
// closed, or an operator that is behind deletes what was declared again. The watch of the hosts may be behind that of the routes: the host
// is read again.
func (s *leaseSoak) seeRoute(o *unstructured.Unstructured, gone bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id, _ := lease.IDFromLabels(o.GetLabels())
	at, host := o.GetNamespace()+"/"+o.GetName(), o.GetName()
	if !gone {
		if since, was := s.gone[at]; was {
			s.gap = max(s.gap, time.Since(since))
			delete(s.gone, at)
		}
		return
	}
	d, declared := s.declared[host]
	if !declared || d.lease != id {
		delete(s.gone, at)
		return
	}
	if s.gone[at] = time.Now(); time.Since(d.since) < 3*time.Second {
		return
	}
	now, err := harness.Objects.Resource(operators.Hosts).Namespace(manifests).Get(s.Context(), host, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return
	}
	if err == nil {
		if is, _ := lease.IDFromLabels(now.GetLabels()); is != id {
			return
		}
	}
	s.counts["routes deleted while declared"]++
	s.faults = append(s.faults, fmt.Sprintf("%s: the route %s was deleted, and its host has been declared since %s", time.Now().Format("15:04:05.000"), at, d.since.Format("15:04:05.000")))
}

// tidies deletes the routes that an operator has left which was down when their hosts were given to another lease, or dropped: it never
// will, and the messages say so.
func (s *leaseSoak) tidies() {
	time.Sleep(10 * time.Second) // what an operator that has just begun makes
	for _, o := range s.owners {
		for _, r := range list(s.T, operators.Ingresses, lease.LabelOwner+"="+o.owner) {
			if id, _ := lease.IDFromLabels(r.GetLabels()); s.beside && !s.isDeclaredFor(r.GetName(), id) {
				harness.Remove(s.T, operators.Ingresses, r.GetNamespace(), r.GetName())
				s.count("routes that operators have left")
			}
		}
	}
}

// isDeclaredFor reports whether a host is declared for a lease.
func (s *leaseSoak) isDeclaredFor(host string, id lease.ID) bool {
	d := find(s.T, operators.Hosts, manifests, host)
	return d != nil && d.GetLabels()[lease.LabelDSeq] == fmt.Sprint(id.DSeq)
}

// wrong is what is not as it is to be when all is still.
func (s *leaseSoak) wrong() (wrong []string) {
	say := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	for _, o := range s.owners {
		asked := map[string]bool{} // hosts that a Manifest names
		for _, id := range slices.Concat(o.leases, o.past) {
			for _, host := range o.named[id] {
				asked[host] = true
			}
			name := kept.Name(id.Group())
			if has := find(s.T, claims, ledger, name) != nil; has != (o.named[id] != nil) {
				say("%s: the ledger keeps a definition: %t", id.Group(), has)
			}
		}
		for _, host := range o.hosts {
			claim, declared := find(s.T, claims, ledger, host), find(s.T, operators.Hosts, manifests, host)
			if (claim != nil) != asked[host] {
				say("%s: it is claimed: %t, and a Manifest names it: %t", host, claim != nil, asked[host])
				continue
			}
			if claim == nil {
				if declared != nil {
					say("%s: it is declared, and nobody asks for it", host)
				}
				continue
			}
			if declared == nil {
				say("%s: it is claimed and not declared", host)
				continue
			}
			id, _ := lease.IDFromLabels(declared.GetLabels())
			if holder, held := o.holder[host]; held && holder != id {
				say("%s: it is declared for %s, and Akash's provider has given it to %s", host, id.Group(), holder.Group())
			}
			if parts := fmt.Sprint(claim.GetAnnotations()); !strings.Contains(parts, id.String()) {
				say("%s: it is declared for %s, and the claim says %s", host, id.Group(), parts)
			}
			if find(s.T, operators.Ingresses, id.Namespace(), host) == nil {
				say("%s: %s has no route", host, id.Group())
			}
		}
		for _, r := range list(s.T, operators.Ingresses, lease.LabelOwner+"="+o.owner) {
			id, _ := lease.IDFromLabels(r.GetLabels())
			if !s.isDeclaredFor(r.GetName(), id) {
				say("%s: a route of %s, for which it is not declared", r.GetName(), id.Group())
			}
		}
	}
	cmd := harness.Command(s.Context(), harness.Plane.Kubeconfig, "state", "--problems", "-o", "json", "--config", s.config)
	out, _ := cmd.Output()
	var book struct {
		Problems []struct{ Problem, Thing, Lease, Message string }
	}
	if err := json.Unmarshal(out, &book); err != nil {
		say("state --problems: %v", err)
	}
	for _, p := range book.Problems {
		if slices.ContainsFunc(s.owners, func(o *tenantOfSoak) bool { return strings.Contains(p.Lease+p.Thing+p.Message, o.owner) }) {
			say("%s %s %s: %s", p.Problem, p.Thing, p.Lease, p.Message)
		}
	}
	return wrong
}
