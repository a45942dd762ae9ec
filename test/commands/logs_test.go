package commands

import (
	"bufio"
	"context"
	"os"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// interrupt is what Ctrl-C sends.
var interrupt = os.Interrupt

func logLines(text string) []string {
	out := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	slices.Sort(out)
	return out
}

func sameLines(t *testing.T, got harness.Result, want ...string) {
	t.Helper()
	slices.Sort(want)
	if !slices.Equal(logLines(got.Stdout), want) {
		t.Errorf("want %q: %s", want, got)
	}
}

// logs prints what all containers of a lease have printed, or those of a service.
func TestLogs(t *testing.T) {
	t.Parallel()
	d, kubelet := newDeployment(t), harness.StartKubelet(t)
	d.deploy(t, "2")
	ns := d.id.Namespace()
	web, db := harness.Pods(t, ns, "web", 2), harness.Pods(t, ns, "db", 1)
	logs := func(args ...string) harness.Result {
		return harness.Run(t.Context(), append([]string{"logs", d.id.String()}, args...)...)
	}
	logs().Exits(t, 0).Says(t, "pod/db-0/db has no logs: it is not scheduled yet", "pod/"+web[0].Name+"/web has no logs")

	kubelet.Runs(t, append(web, db...)...)
	kubelet.Prints(web[0], "one\ntwo\nthree \x1b[31mred\x1b[0m\n")
	kubelet.Prints(web[1], "four")
	kubelet.Prints(db[0], "ready\n")
	first, second := "[pod/"+web[0].Name+"/web] ", "[pod/"+web[1].Name+"/web] "
	sameLines(t, logs().Exits(t, 0), "[pod/db-0/db] ready", first+"one", first+"two", first+"three \x1b[31mred\x1b[0m", second+"four")
	sameLines(t, logs("--service", "web", "--tail", "1").Exits(t, 0), first+"three \x1b[31mred\x1b[0m", second+"four")
	sameLines(t, logs("--service", "db").Exits(t, 0), "ready")
	sameLines(t, logs("--service", "db", "--prefix").Exits(t, 0), "[pod/db-0/db] ready")
	sameLines(t, harness.Run(t.Context(), "logs", d.id.Group().String(), "--prefix=false", "--tail=-1").Exits(t, 0), "ready", "one", "two", "three \x1b[31mred\x1b[0m", "four")
	for _, follow := range []string{"--follow=false", "--follow"} {
		logs("--service", "nope", follow).Exits(t, 1).Says(t, "lease "+d.id.String()+`: it has no service "nope": it has db, web`)
	}
	logs("--previous").Exits(t, 1).Says(t, "previous terminated container", "the logs of 3 of 3 containers cannot be read")

	logs("--service", "db", "--since", "90s", "--timestamps", "--tail", "7").Exits(t, 0)
	logs("--service", "db", "--since-time", "2026-01-02T03:04:05Z", "--tail", "-1").Exits(t, 0)
	asked := kubelet.Asked(db[0])
	a, b := asked[len(asked)-2], asked[len(asked)-1]
	if a.Get("sinceSeconds") != "90" || a.Get("timestamps") != "true" || a.Get("tailLines") != "7" {
		t.Errorf("asked for %v", a)
	}
	if b.Get("sinceTime") != "2026-01-02T03:04:05Z" || b.Has("tailLines") || b.Get("timestamps") == "true" {
		t.Errorf("asked for %v", b)
	}
	logs("-f", "--max-log-requests", "2").Exits(t, 2).Says(t, "--max-log-requests is 2, and this command would follow 3 containers")

	if full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0); err == nil {
		defer full.Close() //nolint:errcheck // nothing was written
		cmd := harness.Command(t.Context(), harness.Plane.Kubeconfig, "logs", d.id.String())
		var errOut strings.Builder
		cmd.Stdout, cmd.Stderr = full, &errOut
		if err := cmd.Run(); err == nil || !strings.Contains(errOut.String(), "the output cannot be written") {
			t.Errorf("to a full disk: %v, %s", err, errOut.String())
		}
	}
	other := newDeployment(t)
	harness.Run(t.Context(), "logs", other.id.String()).Exits(t, 1).Says(t, "has no pods")
	harness.Run(t.Context(), "logs", other.id.Group().String()).Exits(t, 1).Says(t, "no namespace has its labels")
}

// stream runs the program, and reads its lines.
type stream struct {
	t     *testing.T
	lines *bufio.Scanner
	wait  func() (int, string)
	stop  func(os.Signal)
}

func followLogs(t *testing.T, args ...string) *stream {
	t.Helper()
	return followAs(t, harness.Plane.Kubeconfig, args...)
}

func followAs(t *testing.T, kubeconfig string, args ...string) *stream {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), harness.Deadline)
	t.Cleanup(cancel)
	cmd := harness.Command(ctx, kubeconfig, args...)
	var errOut strings.Builder
	cmd.Stderr = &errOut
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	return &stream{t: t, lines: bufio.NewScanner(out),
		wait: func() (int, string) {
			_ = cmd.Wait()
			return cmd.ProcessState.ExitCode(), errOut.String()
		},
		stop: func(s os.Signal) { _ = cmd.Process.Signal(s) },
	}
}

// expects reads lines until all of the texts have come.
func (s *stream) expects(texts ...string) {
	s.t.Helper()
	for len(texts) > 0 {
		if !s.lines.Scan() {
			s.t.Fatalf("the stream ended without %q", texts)
		}
		texts = slices.DeleteFunc(texts, func(text string) bool { return strings.Contains(s.lines.Text(), text) })
	}
}

// A follower sees pods that start later; one that ends does not end the others; an interrupt ends it.
func TestLogsAreFollowed(t *testing.T) {
	t.Parallel()
	d, kubelet := newDeployment(t), harness.StartKubelet(t)
	d.deploy(t, "1")
	ns := d.id.Namespace()
	web := harness.Pods(t, ns, "web", 1)
	kubelet.Runs(t, web[0])
	kubelet.Prints(web[0], "old\nolder\n")
	s := followLogs(t, "logs", d.id.String(), "-f", "--tail", "1")
	s.expects("older")
	if strings.Contains(s.lines.Text(), "[pod/") {
		t.Errorf("one container has a prefix: %s", s.lines.Text())
	}

	db := harness.Pods(t, ns, "db", 1) // it starts now, and all that it prints counts
	kubelet.Prints(db[0], "a\nb\nc\n")
	kubelet.Runs(t, db[0])
	s.expects("[pod/db-0/db] a")
	s.expects("[pod/db-0/db] c")
	kubelet.Prints(web[0], "more\n")
	s.expects("[pod/" + web[0].Name + "/web] more")

	kubelet.Ends(web[0])
	d.deploy(t, "2")
	pods := harness.Pods(t, ns, "web", 2)
	later := pods[slices.IndexFunc(pods, func(p corev1.Pod) bool { return p.Name != web[0].Name })]
	kubelet.Runs(t, later)
	kubelet.Prints(later, "new\n")
	kubelet.Prints(db[0], "still there\n")
	s.expects("[pod/"+later.Name+"/web] new", "[pod/db-0/db] still there")
	s.stop(interrupt)
	if code, errOut := s.wait(); code != 130 || !strings.Contains(errOut, "Interrupted.") {
		t.Errorf("exit code %d, %s", code, errOut)
	}
}

// Whoever follows a lease is done when it is closed: its pods have ended, and nothing is left that would make others. A pod that
// is replaced ends nothing.
func TestLogsEndWithTheLease(t *testing.T) {
	t.Parallel()
	d, kubelet := newDeployment(t), harness.StartKubelet(t)
	d.deploy(t, "1")
	ns := d.id.Namespace()
	gone := func(p corev1.Pod) {
		t.Helper()
		kubelet.Ends(p)
		if err := harness.Client().CoreV1().Pods(ns).Delete(t.Context(), p.Name, *metav1.NewDeleteOptions(0)); err != nil && !apierrors.IsNotFound(err) {
			t.Fatal(err)
		}
	}
	first := harness.Pods(t, ns, "web", 1)[0]
	kubelet.Runs(t, first)
	kubelet.Prints(first, "old\n")
	all, web := followLogs(t, "logs", d.id.String(), "-f"), followLogs(t, "logs", d.id.String(), "-f", "--service", "web", "--prefix=false")
	all.expects("old")
	web.expects("old")

	gone(first)
	next := first
	harness.Eventually(t, "the pod is replaced", func(context.Context) (bool, error) {
		next = harness.Pods(t, ns, "web", 1)[0]
		return next.Name != first.Name, nil
	})
	kubelet.Prints(next, "new\n")
	kubelet.Runs(t, next)
	all.expects("new")
	web.expects("new")

	closes := []string{"-n", ns, "delete", "deployments,statefulsets", "--all", "--wait=false"}
	if drawnToday(t).IntN(2) == 0 {
		closes = []string{"delete", "namespace", ns, "--wait=false"}
	}
	if err := harness.Kubectl(t.Context(), "", nil, closes...); err != nil {
		t.Fatal(err)
	}
	gone(next)
	for _, s := range []*stream{all, web} {
		if code, errOut := s.wait(); code != 0 || !strings.Contains(errOut, "The logs have ended") {
			t.Errorf("exit code %d, %s", code, errOut)
		}
	}
}
