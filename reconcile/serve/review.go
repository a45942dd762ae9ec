package serve

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/time/rate"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	tokencache "k8s.io/apiserver/pkg/authentication/token/cache"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/authorization/authorizerfactory"
	authenticationclient "k8s.io/client-go/kubernetes/typed/authentication/v1"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/client-go/rest"
)

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
	rights authorizer.Authorizer
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
	rights, err := authorizerfactory.DelegatingAuthorizerConfig{
		SubjectAccessReviewClient: asks, AllowCacheTTL: remembered, DenyCacheTTL: remembered, WebhookRetryBackoff: &wait.Backoff{Steps: 1},
	}.New()
	return &review{
		next: next, tokens: tokencache.New(authenticator.TokenFunc(token), false, remembered, remembered), rights: rights, log: log,
		said: rate.Sometimes{Interval: time.Minute}, refused: map[netip.Prefix]*rate.Limiter{},
	}, err
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
	decision, _, err := v.rights.Authorize(r.Context(), authorizer.AttributesRecord{User: who.User, Verb: strings.ToLower(r.Method), Path: r.URL.Path})
	switch {
	case err != nil:
		v.unanswered(w, fmt.Errorf("the rights of %s could not be reviewed: %w", who.User.GetName(), err))
	case decision != authorizer.DecisionAllow:
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
