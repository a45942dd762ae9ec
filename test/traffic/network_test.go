//go:build linux

package traffic

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
)

// network is a network namespace in which this process listens for the backends: the API server
// takes no loopback addresses in an EndpointSlice, and an address of the machine's own would be
// open to its neighbours. A veth pair connects it with the machine, and with nothing beyond it.
//
// The namespace has no name and no file: it is that of one thread. When the process ends, however
// it ends, the kernel removes the namespace, and with it the pair.
type network struct {
	// subnet is the first part of the addresses. The machine's is 1, those of the backends follow.
	subnet string
	last   atomic.Int32
	calls  chan func()
}

// newNetwork makes a namespace with a subnet of the range for tests of network devices (RFC 2544),
// which nobody routes.
func newNetwork(ctx context.Context) (*network, error) {
	if _, err := exec.LookPath("ip"); err != nil {
		return nil, errors.New("the program ip is missing, which connects the network of the backends: apt-get install iproute2")
	}
	n := &network{calls: make(chan func())}
	started := make(chan error)
	go n.serve(started)
	if err := <-started; err != nil {
		return nil, fmt.Errorf("making a network namespace: %w (it takes root, or CAP_SYS_ADMIN and CAP_NET_ADMIN)", err)
	}
	// Of several test processes at once each has a subnet and an interface of its own.
	subnet, veth := os.Getpid()%512, "akn"+strconv.Itoa(os.Getpid())
	n.subnet = fmt.Sprintf("198.%d.%d.", 18+subnet/256, subnet%256)
	n.last.Store(1)
	return n, errors.Join(
		ip(ctx, "link", "add", veth, "type", "veth", "peer", "name", "pods", "netns", strconv.Itoa(n.thread())),
		ip(ctx, "address", "add", n.subnet+"1/24", "dev", veth),
		ip(ctx, "link", "set", veth, "up"),
		n.do(func() error { return ip(ctx, "link", "set", "pods", "up") }),
	)
}

// serve moves a thread of its own into a new namespace and makes there the calls that do sends.
// The thread is never given back, so it ends with this function.
func (n *network) serve(started chan<- error) {
	runtime.LockOSThread()
	err := syscall.Unshare(syscall.CLONE_NEWNET)
	started <- err
	if err != nil {
		return
	}
	for call := range n.calls {
		call()
	}
}

// do calls f inside the namespace: what it listens on and the programs it runs are there.
func (n *network) do(f func() error) error {
	done := make(chan error)
	n.calls <- func() { done <- f() }
	return <-done
}

// thread is the number of the namespace's thread.
func (n *network) thread() int {
	var id int
	_ = n.do(func() error {
		id = syscall.Gettid()
		return nil
	})
	return id
}

// listen opens the port of every backend on an address that no other has, and returns the address.
func (n *network) listen(ctx context.Context) (listener net.Listener, address string, err error) {
	address = n.subnet + strconv.Itoa(int(n.last.Add(1)))
	err = n.do(func() error {
		if err := ip(ctx, "address", "add", address+"/24", "dev", "pods"); err != nil {
			return err
		}
		listener, err = net.Listen("tcp", net.JoinHostPort(address, strconv.Itoa(port)))
		return err
	})
	return listener, address, err
}

func ip(ctx context.Context, args ...string) error {
	out, err := exec.CommandContext(ctx, "ip", args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("ip %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(string(out)))
	}
	return nil
}
