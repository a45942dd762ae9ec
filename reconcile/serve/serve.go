// Package serve answers over HTTP what a reconciler knows: health, metrics, who holds what, and what fails, also in the forms of Akash's
// operators; and it moves hosts and addresses when it is told to. It is built on controller-runtime's server of metrics and its filters.
package serve

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"k8s.io/client-go/rest"
	certutil "k8s.io/client-go/util/cert"
	"sigs.k8s.io/controller-runtime/pkg/certwatcher"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/akash-net/kubectl-akash-net/reconcile"
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
	if !o.Listen.Address.IsValid() {
		return work(ctx)
	}
	if err := metrics.Registry.Register(o.Metrics); err != nil {
		return err
	}
	defer metrics.Registry.Unregister(o.Metrics)
	serving, stop := context.WithCancel(context.WithoutCancel(ctx)) // whoever asks is told until the work has ended
	defer stop()
	listens, err := newServer(serving, o)
	if err != nil {
		return err
	}
	working, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		defer cancel()
		ended <- unheard(o.Listen, listens.Start(serving))
	}()
	err = work(working)
	stop()
	select {
	case failed := <-ended:
		return cmp.Or(failed, err)
	case <-time.After(closing):
		return err
	}
}

// unheard names the address at which a server cannot listen.
func unheard(at reconcile.Listen, err error) error {
	if of, ok := errors.AsType[*net.OpError](err); ok && of.Op == "listen" {
		return fmt.Errorf("--listen: cannot listen at %s: %w", at.Address, of.Err)
	}
	return err
}

// newServer returns the server. It renews a certificate that its files replace, until the context ends.
func newServer(ctx context.Context, o Options) (server.Server, error) {
	client, err := rest.HTTPClientFor(o.Rest)
	if err != nil {
		return nil, err
	}
	opts := server.Options{
		BindAddress: o.Listen.Address.String(), SecureServing: o.Listen.TLS(), FilterProvider: guarded(o.Listen.Loopback()),
		ExtraHandlers: map[string]http.Handler{"/": handler(o)},
	}
	if o.Listen.TLS() {
		get, err := certificate(ctx, o.Listen)
		if err != nil {
			return nil, err
		}
		opts.TLSOpts = []func(*tls.Config){func(c *tls.Config) { c.GetCertificate = get }}
	}
	return server.NewServer(opts, o.Rest, client)
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
