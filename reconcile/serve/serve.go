// Package serve answers over HTTP what a reconciler knows: health, metrics, who holds what, and what fails, also in the forms of Akash's
// operators; and it moves hosts and addresses when it is told to.
package serve

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	"golang.org/x/sync/singleflight"
	"k8s.io/client-go/rest"
	certutil "k8s.io/client-go/util/cert"
	"sigs.k8s.io/controller-runtime/pkg/certwatcher"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/parallel"
	"github.com/akash-net/kubectl-akash-net/reconcile"
	"github.com/akash-net/kubectl-akash-net/reconcile/page"
	"github.com/akash-net/kubectl-akash-net/state/view"
)

// Options configure what is served.
type Options struct {
	Listen reconcile.Listen
	// Rest is the cluster that reviews tokens and rights.
	Rest  *rest.Config
	Shown *Shown
	// Metrics are served beside those of controller-runtime.
	Metrics *Metrics
	// Version is the program's version.
	Version string
	// Page answers each path that nothing else does; nil for none. It sets a Content-Security-Policy of its own, and extends the
	// deadline of what it writes for long (http.ResponseController).
	Page http.Handler
}

// closing is how long the answers under way may take when all else has ended.
const closing = 2 * time.Second

// Beside does work, and serves until it has ended. If it cannot serve, work is ended.
func Beside(ctx context.Context, o Options, work func(context.Context) error) error {
	servers, err := servers(o)
	if err != nil || len(servers) == 0 {
		return cmp.Or(err, work(ctx))
	}
	if err := metrics.Registry.Register(o.Metrics); err != nil {
		return err
	}
	defer metrics.Registry.Unregister(o.Metrics)
	serving, stop := context.WithCancel(context.WithoutCancel(ctx)) // whoever asks is told until the work has ended
	defer stop()
	var serve []func() error
	for _, s := range servers {
		one, err := s.listen(serving)
		if err != nil {
			return err
		}
		serve = append(serve, one)
	}
	working, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, len(serve))
	for _, one := range serve {
		go func() {
			defer cancel()
			ended <- one()
		}()
	}
	err = work(working)
	stop()
	timeout := time.After(closing)
	for range serve {
		select {
		case failed := <-ended:
			err = cmp.Or(failed, err)
		case <-timeout:
			return err
		}
	}
	return err
}

// server is what answers at an address; unencrypted is true for plain HTTP. flag names the address to people.
type server struct {
	flag        string
	at          netip.AddrPort
	handler     http.Handler
	unencrypted bool
	listening   reconcile.Listen
}

// servers returns what answers where.
func servers(o Options) (all []*server, err error) {
	if o.Listen.Address.IsValid() {
		mux := http.NewServeMux()
		mux.Handle("/metrics", promhttp.HandlerFor(metrics.Registry, promhttp.HandlerOpts{}))
		mux.Handle("/", handler(o))
		reviewed, err := newReview(o.Rest, ctrllog.Log.WithName("serve"), mux)
		if err != nil {
			return nil, err
		}
		all = append(all, &server{"--listen", o.Listen.Address, guard(o.Listen.Loopback(), mux, reviewed), !o.Listen.TLS(), o.Listen})
	}
	if o.Listen.Operators.IsValid() {
		all = append(all, &server{"--listen-as-operators", o.Listen.Operators, bound(o.Listen.Operators.Addr().IsLoopback(), asOperators(o)), true, o.Listen})
	}
	return all, nil
}

// unheard names the address at which a server cannot listen.
func (s *server) unheard(err error) error {
	if of, ok := errors.AsType[*net.OpError](err); ok && of.Op == "listen" {
		return fmt.Errorf("%s: cannot listen at %s: %w", s.flag, s.at, of.Err)
	}
	return err
}

// The bounds of a connection: of the headers of a request in bytes and in time, and how long it may do nothing.
const (
	mostHeader = 16 << 10
	idle       = 90 * time.Second
)

// listen returns what serves until the context ends. It renews a certificate that its files replace.
func (s *server) listen(ctx context.Context) (serve func() error, err error) {
	over := http.Protocols{} // a connection of HTTP/2 carries any number of requests that are half sent
	over.SetHTTP1(true)
	server := &http.Server{
		Handler: s.handler, ReadHeaderTimeout: reading, IdleTimeout: idle, MaxHeaderBytes: mostHeader, Protocols: &over,
		ErrorLog: log.New(io.Discard, "", 0), // whoever can connect would fill the log
	}
	at, err := (&net.ListenConfig{}).Listen(ctx, "tcp", s.at.String())
	if err != nil {
		return nil, s.unheard(err)
	}
	at = &bounded{Listener: at, of: map[netip.Prefix]int{}}
	if !s.unencrypted {
		get, err := certificate(ctx, s.listening)
		if err != nil {
			return nil, errors.Join(err, at.Close())
		}
		at = tls.NewListener(at, &tls.Config{GetCertificate: get, MinVersion: tls.VersionTLS12})
	}
	return func() error {
		stop := context.AfterFunc(ctx, func() {
			closed, cancel := context.WithTimeout(context.WithoutCancel(ctx), closing)
			defer cancel()
			if server.Shutdown(closed) != nil {
				_ = server.Close() // what is under way ends with the program
			}
		})
		defer stop()
		if err := server.Serve(at); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	}, nil
}

// certificate returns what gets the certificate: that of the files, as they are read again until the context ends, or one that is made now.
// Without it controller-runtime would take one from a folder of the system's temporary files, where anybody may write.
func certificate(ctx context.Context, l reconcile.Listen) (func(*tls.ClientHelloInfo) (*tls.Certificate, error), error) {
	if l.CertFile != "" {
		files, err := certwatcher.New(l.CertFile, l.KeyFile)
		if err != nil {
			return nil, fmt.Errorf("--tls-cert-file, --tls-private-key-file: %w", err)
		}
		go func() { _ = files.Start(ctx) }() // it ends with the context, or goes on with the certificate that it has read
		return files.GetCertificate, nil
	}
	cert, key, err := certutil.GenerateSelfSignedCertKey("localhost", []net.IP{l.Address.Addr().AsSlice()}, nil)
	if err != nil {
		return nil, err
	}
	made, err := tls.X509KeyPair(cert, key)
	return func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return &made, nil }, err
}

// World is what a reconciler knows, and what it can be told to do. It reads from what is watched: no request is sent but for Answers.
type World struct {
	// Book reads the hosts, addresses, leases and pools.
	Book func(context.Context) (*view.Book, error)
	// Answers reads the hosts, and what answers behind them. Endpoints are not watched: the API server is asked for them.
	Answers func(context.Context) (*view.Book, error)
	// Seen reads what the page shows.
	Seen func(context.Context) (*page.Seen, error)
	// Failing returns the leases that fail, in the order of their deployment groups.
	Failing func(context.Context) ([]reconcile.Failing, error)
	// Definition returns the definition that the ledger keeps of a deployment group, nil if there is none.
	Definition func(context.Context, lease.Group) (*lease.Definition, error)
	// Transfer moves hosts and IP endpoints to a lease of their owner: all that somebody holds, or none. It returns those that nobody
	// holds.
	Transfer func(ctx context.Context, to lease.ID, names []string) (unheld []string, err error)
}

// ErrNotReady says that what is watched has not been read yet, or that the watches have ended.
var ErrNotReady = errors.New("what is watched has not been read yet")

// How long a book answers before it is read again, which bounds what many requests cost; and how long one with endpoints does, which the API
// server is asked for.
const (
	fresh        = time.Second
	freshAnswers = time.Minute
)

// Shown is what is shown: the world of the reconciler that runs, if one does. The zero value shows none.
type Shown struct {
	world          atomic.Pointer[World]
	books, answers lastBook
}

// Show shows a world until the context ends.
func (s *Shown) Show(ctx context.Context, w *World) {
	s.world.Store(w)
	<-ctx.Done()
	s.world.CompareAndSwap(w, nil)
}

// World returns the world, or ErrNotReady.
func (s *Shown) World() (*World, error) {
	if w := s.world.Load(); w != nil {
		return w, nil
	}
	return nil, ErrNotReady
}

// Book returns the hosts, addresses, leases and pools, as they were at most a second ago. Nobody may change it.
func (s *Shown) Book(ctx context.Context) (*view.Book, error) {
	w, err := s.World()
	if err != nil {
		return nil, err
	}
	return s.books.get(ctx, w, fresh, w.Book)
}

// Answers returns the hosts, and what answers behind them, as they were at most a minute ago. Nobody may change it.
func (s *Shown) Answers(ctx context.Context) (*view.Book, error) {
	w, err := s.World()
	if err != nil {
		return nil, err
	}
	return s.answers.get(ctx, w, freshAnswers, w.Answers)
}

// lastBook is the book of a world that was read last.
type lastBook struct {
	reading singleflight.Group

	mu   sync.Mutex
	book *view.Book
	of   *World
	at   time.Time
}

// get returns the last book of a world, or reads it if that is too old. One reading serves all who wait for it; who goes away does not wait
// for its end.
func (l *lastBook) get(ctx context.Context, w *World, fresh time.Duration, read func(context.Context) (*view.Book, error)) (*view.Book, error) {
	last := func() *view.Book {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.of != w || time.Since(l.at) >= fresh {
			return nil
		}
		return l.book
	}
	if book := last(); book != nil {
		return book, nil
	}
	reading := l.reading.DoChan(fmt.Sprintf("%p", w), func() (any, error) {
		book := last()
		if book != nil { // somebody else has read it meanwhile
			return book, nil
		}
		err := parallel.Guard(func() (err error) {
			book, err = read(context.WithoutCancel(ctx))
			return err
		})
		if err != nil {
			return nil, err
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		l.book, l.of, l.at = book, w, time.Now()
		return book, nil
	})
	select {
	case got := <-reading:
		book, _ := got.Val.(*view.Book)
		return book, got.Err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Seen reads what the page shows.
func (s *Shown) Seen(ctx context.Context) (*page.Seen, error) {
	w, err := s.World()
	if err != nil {
		return nil, err
	}
	return w.Seen(ctx)
}

// Failing returns the leases that fail.
func (s *Shown) Failing(ctx context.Context) ([]reconcile.Failing, error) {
	w, err := s.World()
	if err != nil {
		return nil, err
	}
	return w.Failing(ctx)
}
