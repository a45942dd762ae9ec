package soak_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// clients are the command lines that work beside reconcilers.
const clients = 10

// kept are lease definitions as the files of a folder.
type kept struct {
	t    *testing.T
	path string
}

// write writes the definition of a deployment by a rename.
func (k kept) write(t tenant, deployment int, text string) {
	half := filepath.Join(k.path, fmt.Sprintf(".%d-%d-%d", t.number, deployment, t.Uint64()))
	err := os.WriteFile(half, []byte(text), 0o600)
	if err == nil {
		err = os.Rename(half, k.file(t, deployment))
	}
	if err != nil {
		k.t.Error(err)
	}
}

func (k kept) file(t tenant, deployment int) string {
	return filepath.Join(k.path, fmt.Sprintf("%d-%d.yaml", t.number, deployment))
}

// keeps are the arguments of the reconcilers. No controller says of an Ingress that it serves, so a route that a killed migration has
// made beside it would stay.
func (k kept) keeps(more ...string) []string {
	return append([]string{"reconcile", "-f", k.path, "--source=soak", "--max-deletes=100000", "--assume-serving"}, more...)
}

// reconciler is one that is killed now and then, and begins anew, until it is told to stop.
func (k kept) reconciler(number int, stop <-chan struct{}) {
	random := rand.New(rand.NewPCG(26, uint64(number)))
	for {
		var said bytes.Buffer
		cmd := command(k.t.Context(), k.keeps("--watch", "--leader-elect="+fmt.Sprint(number > 0))...)
		cmd.Stdout, cmd.Stderr = &said, &said
		if err := cmd.Start(); err != nil {
			k.t.Error(err)
			return
		}
		select {
		case <-time.After(time.Duration(2+random.IntN(8)) * time.Second):
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
			if strings.Contains(said.String(), "panic") {
				k.t.Errorf("%s", said.String())
			}
		case <-stop:
			k.ends(cmd, &said)
			return
		}
	}
}

// ends stops a reconciler, which has to end by itself, unless it has hardly begun.
func (k kept) ends(cmd *exec.Cmd, said *bytes.Buffer) {
	_ = cmd.Process.Signal(syscall.SIGTERM)
	err := cmd.Wait()
	if status, _ := cmd.ProcessState.Sys().(syscall.WaitStatus); status.Signal() == syscall.SIGTERM && said.Len() == 0 {
		err = nil
	}
	if err != nil || strings.Contains(said.String(), "panic") {
		k.t.Errorf("%v\n%.5000s", err, said.String())
	}
}

// client runs commands for the deployments of the tenants, and changes the files, until the time is over.
func (s *soak) client(number int, k kept, end time.Time) {
	random := rand.New(rand.NewPCG(27, uint64(number)))
	for n := 0; time.Now().Before(end) && !s.t.Failed(); n++ {
		t := tenant{random, random.IntN(s.tenants), s.tenants}
		d := t.deployment()
		switch t.IntN(4) {
		case 0:
			k.write(t, d, t.definition(d).text)
			continue
		case 1:
			if t.IntN(2) == 0 {
				_ = os.Remove(k.file(t, d))
				continue
			}
		}
		op := s.next(t, d)
		op.group = t.group(d)
		s.run(random, op)
		if number == 0 && n%20 == 0 {
			s.auditClaims()
		}
	}
}

// agrees writes files that agree with each other: no host is in two of them.
func (k kept) agrees(s *soak) {
	for n := range s.tenants * deployments {
		number, d := n/deployments, n%deployments+1
		t := tenant{rand.New(rand.NewPCG(28, uint64(n))), number, s.tenants}
		var named []string
		for h := range d {
			named = append(named, fmt.Sprintf("h%d.d%d.t%d.example.com", h, d-1, number))
		}
		k.write(t, d, t.header(d)+"  services: [{name: web, expose: [{port: 8080, as: 80, global: true, hosts: ["+strings.Join(named, ", ")+"]}]}]\n")
	}
}

// is what the cluster has of the leases, without what differs from run to run.
func is(t *testing.T) (out []string) {
	t.Helper()
	for _, resource := range append(slices.Clone(ofLeases), leases) {
		namespace := ""
		if resource == leases {
			namespace = "akash-net"
		}
		for _, o := range list(t, resource, namespace) {
			if strings.HasPrefix(o.GetName(), "run--") || strings.HasPrefix(o.GetName(), "el--") || strings.HasPrefix(o.GetName(), "fl--") || resource != leases && o.GetLabels()["akash.network"] != "true" {
				continue
			}
			for _, name := range []string{"run", "taken"} { // the commands that wrote it
				unstructured.RemoveNestedField(o.Object, "metadata", "annotations", domainName+name)
			}
			spec, _, _ := unstructured.NestedMap(o.Object, "spec")
			text, err := json.MarshalIndent([]any{resource.Resource, o.GetNamespace(), o.GetName(), o.GetLabels(), o.GetAnnotations(), spec}, "", " ")
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, runs.ReplaceAllString(string(text), ""))
		}
	}
	slices.Sort(out)
	return out
}

// runs are the marks of commands on parts of claims.
var runs = regexp.MustCompile(`,\\"run\\":\\"[a-z0-9-]+\\"`)

// Two reconcilers keep the leases of a folder, one of them without election, and ten clients work on the same leases, while all are killed
// at random and the files change. What holds at each moment holds throughout. When the files agree with each other, the reconcilers bring
// about what one run over the same files makes of an empty ledger, object by object.
func TestReconcilersAmongClients(t *testing.T) {
	onPlane(t)
	length, tenants := size(t, 10*time.Second, 4, 10)
	s := newSoak(t, tenants, false)
	k := kept{t, t.TempDir()}
	k.agrees(s)
	stop, stopped := make(chan struct{}), sync.WaitGroup{}
	for number := range 2 {
		stopped.Go(func() { k.reconciler(number, stop) })
	}
	var working sync.WaitGroup
	end := time.Now().Add(length)
	for number := range clients {
		working.Go(func() { s.client(number, k, end) })
	}
	working.Wait()
	close(stop)
	stopped.Wait()
	holdsOver(t)

	k.agrees(s)
	var said bytes.Buffer
	last := command(t.Context(), k.keeps("--watch", "--heal")...)
	last.Stdout, last.Stderr = &said, &said
	if err := last.Start(); err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, "the reconciler brings about what the files say", func(ctx context.Context) (bool, error) {
		return command(ctx, "diff", "-f", k.path).Run() == nil, nil
	})
	k.ends(last, &said)
	harness.Run(t.Context(), "repair", "--crashed-after=0s", "--assume-crashed").Exits(t, 0) // the announcements of those that were killed
	for _, f := range auditAll(t).found {
		t.Errorf("found by the audit: %s\n%s", f, s.story(f))
	}
	got := is(t)
	harness.Run(t.Context(), "release", "--all", "--yes", "--force").Exits(t, 0)
	if rest := is(t); len(rest) > 0 {
		t.Errorf("release --all leaves %v", rest)
	}
	harness.Run(t.Context(), k.keeps()...).Exits(t, 0)
	if diff := cmp.Diff(is(t), got); diff != "" {
		t.Errorf("what the reconcilers have made is not what one run makes (-one run +reconcilers):\n%s", diff)
	}
	harness.Run(t.Context(), "release", "--all", "--yes", "--force").Exits(t, 0)
}
