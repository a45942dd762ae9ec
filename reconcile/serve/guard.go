package serve

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/time/rate"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	tokencache "k8s.io/apiserver/pkg/authentication/token/cache"
	"k8s.io/apiserver/pkg/authentication/user"
	authenticationclient "k8s.io/client-go/kubernetes/typed/authentication/v1"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/client-go/rest"
)

const (
	// maxBody bounds the body of a request, in bytes, and reading how long a client may take to send it.
	maxBody = 64 << 10
	reading = 10 * time.Second
	// writing bounds how long an answer may take, with the time that its client takes to read it.
	writing = 2 * time.Minute
)

// open are the paths that tell nothing but whether the reconciler is well. Anybody may get them: kubelets do, without a token.
var open = map[string]bool{"/healthz": true, "/readyz": true, "/health": true}

// bound bounds requests, and passes them to next. On loopback it refuses those that name another host: a page from elsewhere, whose name
// leads here.
func bound(loopback bool, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Cache-Control", "no-cache")
		w.Header().Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
		within := http.NewResponseController(w)
		_ = within.SetWriteDeadline(time.Now().Add(writing))
		if r.ContentLength != 0 {
			_ = within.SetReadDeadline(time.Now().Add(reading))
		}
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		if loopback && !ofLoopback(r.Host) {
			refuse(w, http.StatusMisdirectedRequest, "this is not %q: name localhost, or the address", r.Host)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// guard bounds requests, and passes them to next, or to reviewed if it has to be asked whether they may be made.
func guard(loopback bool, next, reviewed http.Handler) http.Handler {
	return bound(loopback, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		reads := r.Method == http.MethodGet || r.Method == http.MethodHead
		switch {
		case reads && (loopback || open[r.URL.Path]):
			next.ServeHTTP(w, r)
		default:
			reviewed.ServeHTTP(w, r)
		}
	}))
}

// ofLoopback reports whether the host of a request is this machine by its name or address.
func ofLoopback(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	if len(host) > 2 && host[0] == '[' && host[len(host)-1] == ']' {
		host = host[1 : len(host)-1]
	}
	address, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && address.Unmap().IsLoopback()
}

// The bounds of what requests with tokens cost the API server: how many of a client's tokens it may refuse in a second, how many reviews
// all clients together get, and how long an answer stands.
const (
	refusals, refusalsAtOnce = 5, 20
	reviews, reviewsAtOnce   = 50, 100
	remembered               = time.Minute
)

// review passes on the requests of those who may make them, by TokenReview and SubjectAccessReview of their path and method.
type review struct {
	next   http.Handler
	tokens authenticator.Token
	rights func(context.Context, authorizationv1.SubjectAccessReviewSpec) (allowed bool, err error)
	log    logr.Logger
	// said is when the log has said last why a request was refused: whoever can send a request would fill it.
	said rate.Sometimes

	mu sync.Mutex
	// refused are the clients whose tokens were refused.
	refused map[netip.Prefix]*rate.Limiter
}

func newReview(config *rest.Config, log logr.Logger, next http.Handler) (*review, error) {
	config = rest.CopyConfig(config)
	config.QPS, config.Burst = reviews, reviewsAtOnce
	client, err := authenticationclient.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	asks, err := authorizationclient.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	token := func(ctx context.Context, token string) (*authenticator.Response, bool, error) {
		asked := &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token}}
		answer, err := client.TokenReviews().Create(ctx, asked, metav1.CreateOptions{})
		if err != nil || !answer.Status.Authenticated {
			return nil, false, err
		}
		who := &user.DefaultInfo{Name: answer.Status.User.Username, UID: answer.Status.User.UID, Groups: answer.Status.User.Groups, Extra: map[string][]string{}}
		for key, values := range answer.Status.User.Extra {
			who.Extra[key] = values
		}
		return &authenticator.Response{User: who}, true, nil
	}
	// The authorizer of k8s.io/apiserver does the same, and links CEL, gRPC and tracing: a seventh of the program.
	known := cache.NewLRUExpireCache(10_000)
	rights := func(ctx context.Context, spec authorizationv1.SubjectAccessReviewSpec) (bool, error) {
		key, err := json.Marshal(spec)
		if err != nil {
			return false, err
		}
		if allowed, ok := known.Get(string(key)); ok {
			return allowed.(bool), nil
		}
		answer, err := asks.SubjectAccessReviews().Create(ctx, &authorizationv1.SubjectAccessReview{Spec: spec}, metav1.CreateOptions{})
		if err == nil && len(key) < 10_000 {
			known.Add(string(key), answer.Status.Allowed, remembered)
		}
		return err == nil && answer.Status.Allowed, err
	}
	return &review{
		next: next, tokens: tokencache.New(authenticator.TokenFunc(token), false, remembered, remembered), rights: rights, log: log,
		said: rate.Sometimes{Interval: time.Minute}, refused: map[netip.Prefix]*rate.Limiter{},
	}, nil
}

// ServeHTTP answers 401 only to a token that the API server has refused, and 503 where it has not answered (http.Handler).
func (v *review) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") || token == "" {
		unauthorised(w, "a bearer token is needed")
		return
	}
	of := v.refusedOf(r.RemoteAddr)
	if of.Tokens() < 1 {
		w.Header().Set("Retry-After", "1")
		refuse(w, http.StatusTooManyRequests, "too many unknown tokens came from %s", r.RemoteAddr)
		return
	}
	who, known, err := v.tokens.AuthenticateToken(r.Context(), token)
	switch {
	case err != nil:
		v.unanswered(w, fmt.Errorf("a token could not be reviewed: %w", err))
		return
	case !known:
		of.Allow()
		v.said.Do(func() { v.log.Info("the API server does not know the token of a request", "from", r.RemoteAddr) })
		unauthorised(w, "the API server does not know this token")
		return
	}
	asked := authorizationv1.SubjectAccessReviewSpec{
		User: who.User.GetName(), UID: who.User.GetUID(), Groups: who.User.GetGroups(), Extra: map[string]authorizationv1.ExtraValue{},
		NonResourceAttributes: &authorizationv1.NonResourceAttributes{Path: r.URL.Path, Verb: strings.ToLower(r.Method)},
	}
	for key, values := range who.User.GetExtra() {
		asked.Extra[key] = values
	}
	allowed, err := v.rights(r.Context(), asked)
	switch {
	case err != nil:
		v.unanswered(w, fmt.Errorf("the rights of %s could not be reviewed: %w", who.User.GetName(), err))
	case !allowed:
		refuse(w, http.StatusForbidden, "%s may not %s %s", who.User.GetName(), strings.ToLower(r.Method), r.URL.Path)
	default:
		v.next.ServeHTTP(w, r)
	}
}

// unanswered answers a request about which the API server has not answered.
func (v *review) unanswered(w http.ResponseWriter, err error) {
	v.said.Do(func() { v.log.Error(err, "a request is not answered") })
	w.Header().Set("Retry-After", "1")
	refuse(w, http.StatusServiceUnavailable, "%v", err)
}

func unauthorised(w http.ResponseWriter, text string) {
	w.Header().Set("WWW-Authenticate", "Bearer")
	refuse(w, http.StatusUnauthorized, "%s", text)
}

// refusedOf returns the bound on the unknown tokens of a client: an IPv4 address, or the 64 bits that an IPv6 host has for itself.
func (v *review) refusedOf(remote string) *rate.Limiter {
	const most = 10_000
	v.mu.Lock()
	defer v.mu.Unlock()
	client := clientOf(remote)
	if v.refused[client] == nil {
		if len(v.refused) >= most {
			clear(v.refused)
		}
		v.refused[client] = rate.NewLimiter(refusals, refusalsAtOnce)
	}
	return v.refused[client]
}

// The bounds of connections: of a client, and of all. What is more is closed, so that a client that holds many keeps no other one out.
const (
	mostOfClient = 128
	mostOfAll    = 512
)

// bounded closes connections that are too many.
type bounded struct {
	net.Listener
	mu  sync.Mutex
	of  map[netip.Prefix]int
	all int
}

// Accept waits for a connection that is not too many (net.Listener).
func (b *bounded) Accept() (net.Conn, error) {
	for {
		c, err := b.Listener.Accept()
		if err != nil {
			return nil, err
		}
		client := clientOf(c.RemoteAddr().String())
		if b.count(client, 1) {
			return &counted{Conn: c, ended: sync.OnceFunc(func() { b.count(client, -1) })}, nil
		}
		_ = c.Close() // nothing was read of it
	}
}

// count counts a connection of a client that has come, or has ended. It returns false for one too many.
func (b *bounded) count(client netip.Prefix, by int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if by > 0 && (b.of[client] >= mostOfClient || b.all >= mostOfAll) {
		return false
	}
	b.all += by
	if b.of[client] += by; b.of[client] == 0 {
		delete(b.of, client)
	}
	return true
}

// counted is a connection that counts until it is closed.
type counted struct {
	net.Conn
	ended func()
}

// Close closes the connection (net.Conn).
func (c *counted) Close() error {
	defer c.ended()
	return c.Conn.Close()
}

// clientOf returns what tells a client from others, by the address of its connection.
func clientOf(remote string) netip.Prefix {
	at, _ := netip.ParseAddrPort(remote)
	bits := 32
	if at.Addr().Unmap().Is6() {
		bits = 64
	}
	client, _ := at.Addr().Unmap().WithZone("").Prefix(bits)
	return client
}
