package testbed

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/akash-net/kubectl-akash-net/hack/testbed/programs"
)

// watchdog reads process ids from the test process. When the pipe ends without "done" the test
// process died (a panic, a kill), and what it started is ended with it.
const watchdog = `trap '' INT TERM HUP
pids=
while read -r pid; do
	[ "$pid" = done ] && exit
	pids="$pids $pid"
done
[ -n "$pids" ] && kill -9 $pids
rm -rf "$1"`

// children are the processes of a control plane.
type children struct {
	dir     string
	pipe    io.WriteCloser
	watch   *exec.Cmd
	started []*child
}

// child is a program that was started.
type child struct {
	process *os.Process
	log     string
	running context.Context // ends with the program, or with the caller's context
	gone    chan struct{}   // closed when the program has ended, whereupon err says how
	err     error
}

func watchChildren(dir string) (*children, error) {
	watch := exec.Command("sh", "-c", watchdog, "watchdog", dir) //nolint:gosec // fixed script
	pipe, err := watch.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := watch.Start(); err != nil {
		return nil, fmt.Errorf("starting the watchdog: %w", err)
	}
	return &children{dir: dir, pipe: pipe, watch: watch}, nil
}

// start starts a program of the testbed, with a log of its name in the control plane's folder.
func (c *children) start(ctx context.Context, path string, args ...string) (*child, error) {
	return c.run(ctx, exec.Command(path, args...)) //nolint:gosec // a program that Build made
}

// run does the same for a command that is prepared already.
func (c *children) run(ctx context.Context, cmd *exec.Cmd) (*child, error) {
	name := filepath.Base(cmd.Path)
	log, err := os.Create(filepath.Join(c.dir, name+".log"))
	if err != nil {
		return nil, err
	}
	defer log.Close() //nolint:errcheck // the child has its own handle
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	running, ended := context.WithCancelCause(ctx)
	started := &child{process: cmd.Process, log: log.Name(), running: running, gone: make(chan struct{})}
	go func() {
		started.err = fmt.Errorf("%s ended: %w", name, cmp.Or(cmd.Wait(), errors.New("exit code 0")))
		ended(started.err)
		close(started.gone)
	}()
	c.started = append(c.started, started)
	return started, c.tell(strconv.Itoa(cmd.Process.Pid))
}

// adopt puts what envtest has started under the watchdog. envtest keeps the process ids to
// itself, so they are read from /proc; where there is none, only Stop ends them.
func (c *children) adopt() {
	for _, pid := range ours("etcd", "kube-apiserver") {
		_ = c.tell(strconv.Itoa(pid))
	}
}

// ours are the process ids of this process's children of those names.
func ours(programs ...string) (pids []int) {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range stats {
		stat, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		// pid (name) state parent …
		before, after, _ := strings.Cut(string(stat), ") ")
		text, name, _ := strings.Cut(before, " (")
		fields := strings.Fields(after)
		pid, err := strconv.Atoi(text)
		if err == nil && len(fields) > 1 && fields[1] == strconv.Itoa(os.Getpid()) && slices.Contains(programs, name) {
			pids = append(pids, pid)
		}
	}
	return pids
}

func (c *children) tell(line string) error {
	_, err := fmt.Fprintln(c.pipe, line)
	return err
}

// stop ends the processes, the last started first. That one of them has ended by itself is an
// error: the tests ran without it.
func (c *children) stop() error {
	if c == nil {
		return nil
	}
	var errs []error
	for _, child := range slices.Backward(c.started) {
		select {
		case <-child.gone:
			errs = append(errs, fmt.Errorf("%w, before the tests did\n%s", child.err, tail(child.log)))
			continue
		default:
		}
		_ = child.process.Signal(syscall.SIGTERM)
		kill := time.AfterFunc(5*time.Second, func() { _ = child.process.Kill() })
		<-child.gone
		kill.Stop()
	}
	c.started = nil
	return errors.Join(errs...)
}

// release ends the watchdog.
func (c *children) release() {
	if c == nil {
		return
	}
	_ = c.tell("done")
	_ = c.pipe.Close()
	_ = c.watch.Wait()
}

// tail is the end of a log, for an error.
func tail(path string) string {
	content, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(content)), "\n")
	return strings.Join(lines[max(0, len(lines)-15):], "\n")
}

// freePorts returns different TCP ports of the loopback address that nobody listens on.
func freePorts(n int) ([]int, error) {
	ports := make([]int, n)
	for i := range ports {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer listener.Close() //nolint:errcheck // only listened
		ports[i] = listener.Addr().(*net.TCPAddr).Port
	}
	return ports, nil
}

// Traefik is a running Traefik, which serves the cluster's Ingresses and HTTPRoutes.
type Traefik struct {
	// HTTP and HTTPS are ports of the loopback address. A Gateway's listener has to name one.
	HTTP, HTTPS int
}

// StartTraefik installs the Gateway API's CRDs, starts Traefik and waits until it runs. It serves
// the classes whose controllers are traefik.io/ingress-controller, k8s.io/ingress-nginx and
// traefik.io/gateway-controller; the caller makes them.
func (p *ControlPlane) StartTraefik(ctx context.Context) (*Traefik, error) {
	path, err := programs.Path("traefik")
	if err != nil {
		return nil, err
	}
	crds, err := programs.GatewayAPICRDs(ctx)
	if err != nil {
		return nil, err
	}
	if err := p.InstallCRDs(crds); err != nil {
		return nil, err
	}
	ports, err := freePorts(3)
	if err != nil {
		return nil, err
	}
	http, https, ping := ports[0], ports[1], ports[2]
	// It asks nobody outside the machine for anything. Prefixes match whole elements of a path, as Kubernetes says of
	// Ingresses; what is not said here is as Traefik has it.
	cmd := exec.Command(path, //nolint:gosec // a program that Build made
		"--global.checknewversion=false",
		"--global.sendanonymoususage=false",
		fmt.Sprint("--entrypoints.web.address=127.0.0.1:", http),
		"--entrypoints.web.asdefault=true",
		fmt.Sprint("--entrypoints.websecure.address=127.0.0.1:", https),
		"--entrypoints.websecure.asdefault=true",
		"--entrypoints.websecure.http.tls=true",
		fmt.Sprint("--entrypoints.ping.address=127.0.0.1:", ping),
		"--ping.entrypoint=ping",
		"--providers.kubernetesingress=true",
		"--providers.kubernetesingress.strictprefixmatching=true",
		"--providers.kubernetesingressnginx=true",
		"--providers.kubernetesgateway=true")
	cmd.Env = append(os.Environ(), "KUBECONFIG="+p.Kubeconfig)
	cmd.Dir = p.Dir // it reads a traefik.yml of its working directory
	traefik, err := p.children.run(ctx, cmd)
	if err != nil {
		return nil, err
	}
	if err := WaitHealthy(traefik.running, fmt.Sprintf("http://127.0.0.1:%d/ping", ping)); err != nil {
		return nil, fmt.Errorf("traefik: %w\n%s", err, tail(traefik.log))
	}
	return &Traefik{HTTP: http, HTTPS: https}, nil
}
