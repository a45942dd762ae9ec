package reconcile_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state/kept"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// manifest is a tenant's manifest, as it is sent to a provider.
func manifest(host string) string {
	return fmt.Sprintf(`[{"name":"dc","services":[{"name":"web","image":"nginx","count":1,"expose":[{"port":80,"externalPort":80,"proto":"TCP","global":true,"hosts":[%q]}]}]}]`, host)
}

func won(id lease.ID) string    { return fmt.Sprintf(`{"type":"LeaseWon","lease":%q}`, id.String()) }
func closed(id lease.ID) string { return fmt.Sprintf(`{"type":"LeaseClosed","lease":%q}`, id.String()) }
func received(id lease.ID, host string) string {
	return fmt.Sprintf(`{"type":"ManifestReceived","lease":%q,"manifest":%s}`, id.String(), manifest(host))
}

// ack is an acknowledgement.
type ack struct {
	Schema, Action, Type, Lease, Message, Error string
	Line                                        int
	Hosts                                       []string
	Retry, DryRun                               bool
	Changed                                     *bool
}

func (a ack) String() string {
	text := fmt.Sprintf("%d %s %s %s", a.Line, a.Type, a.Action, a.Message+a.Error)
	if a.Changed != nil && !*a.Changed {
		text += ", unchanged"
	}
	if a.Retry {
		text += ", retry"
	}
	return text
}

func acksIn(t *testing.T, text string) (acks []ack) {
	t.Helper()
	for line := range strings.Lines(text) {
		if !strings.HasSuffix(line, "\n") {
			break // it is being written
		}
		var a ack
		if err := json.Unmarshal([]byte(line), &a); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if a.Schema == "net.akash.network/acks/v1" {
			acks = append(acks, a)
		}
	}
	return acks
}

// tells runs reconcile once with events on standard input.
func tells(t *testing.T, events string, args ...string) ([]ack, harness.Result) {
	t.Helper()
	cmd := harness.Command(t.Context(), reconciler, append([]string{"reconcile", "--events", "-"}, args...)...)
	cmd.Stdin = strings.NewReader(events)
	r := harness.Finish(cmd)
	return acksIn(t, r.Stdout), r
}

func wantAcks(t *testing.T, got []ack, want ...string) {
	t.Helper()
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || !strings.Contains(got[i].String(), want[i]) {
			t.Fatalf("acknowledged are %q\nwant %q", got, want)
		}
	}
}

// reservedBy returns what "state orders" says of an order.
func reservedBy(t *testing.T, id lease.ID) string {
	t.Helper()
	return harness.Run(t.Context(), "state", "orders", "-o", "custom-columns=O:.order,S:.state,E:.expires,P:.provider", "--no-headers",
		"-l", "akash.network/lease.id.owner="+id.Owner).Exits(t, 0).Stdout
}

const sdl = `version: "2.0"
services: {web: {image: nginx, expose: [{port: 80, accept: [%s], to: [{global: true}]}]}}
profiles:
  compute: {web: {resources: {cpu: {units: 1}, memory: {size: 1Gi}, storage: {size: 1Gi}}}}
  placement: {dc: {pricing: {web: {denom: uakt, amount: 1}}}}
deployment: {web: {dc: {profile: web, count: 1}}}
`

// An order becomes a lease, and that is closed: each event does its part, says so, and says the same when it is sent again.
func TestEvents(t *testing.T) {
	id, host, next := harness.LeaseOf(harness.NewOwner(t), 1), harness.NewHost("shop"), harness.NewHost("next")
	harness.Node(t, "events-1", nil, harness.Amounts("4", "8Gi"))
	file := harness.File(t, fmt.Sprintf(sdl, host))
	harness.Run(t.Context(), "order", "reserve", id.Order().String(), "-f", file, "--expires", "5m").Exits(t, 0)

	acks, r := tells(t, won(id)+"\n"+won(id)+"\n\n")
	r.Exits(t, 0).Says(t, "order/"+id.Order().String()+" claimed (what it has reserved is the lease's)")
	wantAcks(t, acks, "1 LeaseWon done reserved", "2 LeaseWon done reserved, unchanged")
	if text := reservedBy(t, id); !strings.Contains(text, "Leased   <none>   "+id.Provider) {
		t.Errorf("the order's reservation is %s", text)
	}

	acks, r = tells(t, received(id, host)+"\n"+received(id, host))
	r.Exits(t, 0)
	wantAcks(t, acks, "1 ManifestReceived done applied", "2 ManifestReceived done applied, unchanged")
	if acks[0].Hosts[0] != host || acks[0].Lease != id.String() {
		t.Errorf("acknowledged is %+v", acks[0])
	}
	routed(t, id, host, true)
	if o := harness.Find(t, cluster.Leases, "akash-net", kept.Name(id.Group())); o.GetAnnotations()[kept.AnnotationSource] != "akash-events" {
		t.Errorf("the lease is of source %q", o.GetAnnotations()[kept.AnnotationSource])
	}

	acks, r = tells(t, received(id, next)+"\r\n"+closed(id)+"\n"+closed(id)+"\n")
	r.Exits(t, 0)
	wantAcks(t, acks, "1 ManifestReceived done applied", "2 LeaseClosed done released", "3 LeaseClosed done holds nothing; whether it runs anything is not yours to see without the role akash-net-workloads, unchanged")
	routed(t, id, next, false)
	released(t, id)
	if text := reservedBy(t, id); text != "" {
		t.Errorf("the order has still reserved %s", text)
	}
}

// A LeaseClosed that comes late takes nothing from the next lease of the deployment: not what its order has reserved, nor what it serves.
func TestEventsOfTheNextLease(t *testing.T) {
	first, host := harness.LeaseOf(harness.NewOwner(t), 1), harness.NewHost("again")
	second := first
	second.OSeq = 2
	harness.Node(t, "events-2", nil, harness.Amounts("4", "8Gi"))
	file := harness.File(t, fmt.Sprintf(sdl, host))
	for _, id := range []lease.ID{first, second} {
		harness.Run(t.Context(), "order", "reserve", id.Order().String(), "-f", file).Exits(t, 0)
	}
	acks, r := tells(t, strings.Join([]string{won(first), received(first, host), won(second), closed(first)}, "\n"))
	r.Exits(t, 0)
	wantAcks(t, acks, "done reserved", "done applied", "done reserved", "done released")
	if text := reservedBy(t, first); strings.Count(text, "\n") != 1 || !strings.Contains(text, second.Order().String()) {
		t.Errorf("reserved are %s", text)
	}
	acks, r = tells(t, strings.Join([]string{received(second, host), closed(first)}, "\n"))
	r.Exits(t, 0)
	wantAcks(t, acks, "done applied", "done holds nothing; lease "+second.String()+" of the same deployment is live, unchanged")
	routed(t, second, host, true)
	acks, r = tells(t, closed(second))
	r.Exits(t, 0)
	wantAcks(t, acks, "done released")
	if text := reservedBy(t, first); text != "" {
		t.Errorf("reserved are %s", text)
	}
}

// Whatever a line has, it is acknowledged with its number, and stops no other.
func TestHostileEvents(t *testing.T) {
	t.Parallel()
	id, other, host := harness.LeaseOf(harness.NewOwner(t), 1), harness.LeaseOf(harness.NewOwner(t), 1), harness.NewHost("bad")
	harness.Run(t.Context(), "reserve", "theirs."+host, "--lease", other.String()).Exits(t, 0)
	var lines, want []string
	for _, l := range [][2]string{
		{`no JSON`, "not valid JSON"},
		{`{"type":"LeaseLost","lease":"` + id.String() + `"}`, `unknown type "LeaseLost"`},
		{`{"type":"LeaseClosed","lease":"` + id.String() + `","force":true}`, `unknown key "force"`},
		{`{"type":"LeaseClosed","lease":"akash1x/1/1/1/akash1y"}`, "its checksum is wrong"},
		{`{"type":"LeaseClosed","type":"LeaseWon","lease":"` + id.String() + `"}`, "is given twice"},
		{strings.Repeat(`["`, 100_000), "larger than 65536 bytes"},
		{received(id, "UPPER."+host), "is not lower case"},
		{received(id, "theirs."+host), "theirs." + host + " is held by lease " + other.String()},
		{`{"type":"ManifestReceived","lease":"` + id.String() + `"}`, `"manifest" is missing`},
		{`{"type":"ManifestReceived","lease":"` + id.String() + `","manifest":[]}`, "the manifest has no groups"},
		{`[]`, "expected a mapping"}, {`null`, "expected an event"}, {"\x00", "not valid JSON"}, {"\xff\xfe", "not valid JSON"},
		{won(id), "has reserved nothing"},
		{received(id, host), "done applied"},
	} {
		lines, want = append(lines, l[0]), append(want, l[1])
	}
	acks, r := tells(t, strings.Join(lines, "\n"), "--config", harness.Configure(t, "limits: {documentSize: 64Ki, inputSize: 256Ki}"))
	r.Exits(t, 1).Says(t, "15 events of 16 failed")
	slices.SortFunc(acks, func(a, b ack) int { return a.Line - b.Line })
	wantAcks(t, acks, want...)
	routed(t, id, host, true)
}

// A process that is killed in the middle loses nothing: who sends again what was not acknowledged gets what was asked for.
func TestEventsAreSentAgain(t *testing.T) {
	t.Parallel()
	owner, domain := harness.NewOwner(t), harness.NewDomain()
	var lines []string
	for i := range 20 {
		lines = append(lines, received(harness.LeaseOf(owner, uint64(i+1)), fmt.Sprintf("k%d.%s", i, domain)))
	}
	for _, after := range []int{1, 10} {
		cmd := harness.Command(t.Context(), reconciler, "reconcile", "--events", "-")
		cmd.Stdin = strings.NewReader(strings.Join(lines, "\n") + "\n")
		p := harness.Launch(t, cmd)
		acknowledges(t, p, after)
		p.Kill()
		harness.Crashed(t, owner)
	}
	acks, r := tells(t, strings.Join(lines, "\n"))
	r.Exits(t, 0)
	if len(acks) != len(lines) {
		t.Errorf("%d events are acknowledged", len(acks))
	}
	for i := range lines {
		if route(t, harness.LeaseOf(owner, uint64(i+1)), fmt.Sprintf("k%d.%s", i, domain)) == nil {
			t.Errorf("lease %d has no route", i+1)
		}
	}
}

// newPipe makes a named pipe.
func newPipe(t *testing.T) string {
	t.Helper()
	path := t.TempDir() + "/events"
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// write writes to a named pipe as a writer of its own.
func write(t *testing.T, pipe, text string) {
	t.Helper()
	f, err := os.OpenFile(pipe, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close() //nolint:errcheck // the write is checked
	if _, err := io.WriteString(f, text); err != nil {
		t.Fatal(err)
	}
}

// watchEvents starts a reconciler with a standard input.
func watchEvents(t *testing.T, stdin io.Reader, args ...string) *harness.Process {
	t.Helper()
	cmd := watches(t, reconciler, args...)
	cmd.Stdin = stdin
	return harness.Launch(t, cmd)
}

// acknowledges waits until a process has acknowledged so many events, and returns them.
func acknowledges(t *testing.T, p *harness.Process, n int) (acks []ack) {
	t.Helper()
	harness.Eventually(t, fmt.Sprintf("%d events are to be acknowledged", n), func(context.Context) (bool, error) {
		acks = acksIn(t, p.Out.String())
		return len(acks) >= n, nil
	})
	return acks
}

// A named pipe stays open for other writers when one closes it, also one that dies in the middle of a line. What a file defines is decided by
// the file.
func TestWatchEvents(t *testing.T) {
	t.Parallel()
	dir, owner, pipe := newFolder(t), harness.NewOwner(t), newPipe(t)
	filed, first, second := harness.LeaseOf(owner, 1), harness.LeaseOf(owner, 2), harness.LeaseOf(owner, 3)
	one, two, three := harness.NewHost("one"), harness.NewHost("two"), harness.NewHost("three")
	dir.define(t, filed, one)
	w := watchEvents(t, nil, "-f", dir.path, "--source", "beside", "--events", pipe, "--leader-elect=false")
	write(t, pipe, received(filed, two)+"\n"+closed(filed)+"\n")
	for _, a := range acknowledges(t, w, 2) {
		if want := "is defined at " + dir.path + "/1.yaml:"; !strings.Contains(a.Error, want) {
			t.Errorf("acknowledged is %s, want %s", a, want)
		}
	}
	routed(t, filed, one, true)
	write(t, pipe, received(first, two)+"\n")
	wantAcks(t, acknowledges(t, w, 3)[2:], "done applied")
	routed(t, first, two, true)
	write(t, pipe, `{"type":"LeaseClo`)
	wantAcks(t, acknowledges(t, w, 4)[3:], "not valid JSON")
	var writers sync.WaitGroup
	writers.Go(func() { write(t, pipe, received(second, three)+"\n") })
	writers.Go(func() { write(t, pipe, closed(first)+"\n") })
	writers.Wait()
	acknowledges(t, w, 6)
	routed(t, second, three, true)
	routed(t, first, two, false)

	w.Stops(t)
	if text := w.Out.String(); strings.Contains(text, "ingress") || !strings.Contains(w.Err.String(), "is applied: 1 host") {
		t.Errorf("standard output has %s, and standard error %s", text, &w.Err)
	}
}

// Only the one that was elected reads events.
func TestTwoWatchEvents(t *testing.T) {
	pipe, id, host := newPipe(t), harness.LeaseOf(harness.NewOwner(t), 1), harness.NewHost("elected")
	a := watchEvents(t, nil, "--events", pipe)
	write(t, pipe, received(id, host)+"\n")
	acknowledges(t, a, 1)
	b := watchEvents(t, nil, "--events", pipe)
	for n := range 5 {
		write(t, pipe, closed(id)+"\n")
		acknowledges(t, a, n+2)
	}
	if text := b.Out.String(); text != "" {
		t.Errorf("the other one has acknowledged %s", text)
	}
	a.Stops(t)
	write(t, pipe, received(id, host)+"\n")
	wantAcks(t, acknowledges(t, b, 1), "done applied")
	b.Stops(t)
}

// The end of standard input, and of those who read the acknowledgements, ends the events and nothing else.
func TestEventsEnd(t *testing.T) {
	t.Parallel()
	dir, owner := newFolder(t), harness.NewOwner(t)
	filed, id := harness.LeaseOf(owner, 1), harness.LeaseOf(owner, 2)
	one, two := harness.NewHost("one"), harness.NewHost("two")
	w := watchEvents(t, strings.NewReader(received(id, two)), "-f", dir.path, "--events", "-", "--leader-elect=false")
	acknowledges(t, w, 1)
	w.Says(t, "the input has ended; no more events are carried out")
	dir.define(t, filed, one)
	routed(t, filed, one, true)
	w.Stops(t)

	dir.remove(t, filed)
	pipe := newPipe(t)
	cmd := watches(t, reconciler, "-f", dir.path, "--events", pipe, "--leader-elect=false")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	events := harness.Launch(t, cmd)
	_ = out.Close() // nobody reads
	write(t, pipe, closed(id)+"\n")
	events.Says(t, "no more events are read, as their acknowledgements cannot be written")
	routed(t, id, two, false)
	dir.define(t, filed, one, "http: {readTimeout: 30s}")
	harness.Eventually(t, "the timeout is to be that of the file", func(context.Context) (bool, error) {
		return route(t, filed, one).GetAnnotations()[readTimeout] == "30", nil
	})
	events.Stops(t)
}

// An interrupt ends the reading; what is under way is finished and acknowledged, and the exit code is 0.
func TestEventsInterrupted(t *testing.T) {
	t.Parallel()
	id, host := harness.LeaseOf(harness.NewOwner(t), 1), harness.NewHost("last")
	cmd := harness.Command(t.Context(), reconciler, "reconcile", "--events", "-")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	p := harness.Launch(t, cmd)
	if _, err := io.WriteString(stdin, received(id, host)+"\n"); err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, "the host is to be claimed", func(context.Context) (bool, error) {
		return harness.Find(t, cluster.Leases, "akash-net", host) != nil, nil
	})
	p.Stops(t)
	wantAcks(t, acksIn(t, p.Out.String()), "1 ManifestReceived done applied")
	routed(t, id, host, true)
}

// A lease of a source that people have named is that source's: no event changes it, or ends it.
func TestEventsOfALeaseOfFiles(t *testing.T) {
	t.Parallel()
	dir, id, host := newFolder(t), harness.LeaseOf(harness.NewOwner(t), 1), harness.NewHost("files")
	dir.define(t, id, host)
	harness.RunAs(t.Context(), reconciler, "reconcile", "-f", dir.path, "--source", "named").Exits(t, 0)
	acks, r := tells(t, received(id, harness.NewHost("other"))+"\n"+closed(id)+"\n")
	r.Exits(t, 1)
	for _, ack := range acks {
		if !strings.Contains(ack.Error, "is of source named") {
			t.Errorf("acknowledged is %+v", ack)
		}
	}
	routed(t, id, host, true)
}
