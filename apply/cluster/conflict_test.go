package cluster

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// answer is an answer of the API server, as kube-apiserver 1.36 gives it.
func answer(code int32, reason metav1.StatusReason, causes ...metav1.StatusCause) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: code, Reason: reason, Details: &metav1.StatusDetails{Name: "shop.example.com", Causes: causes},
	}}
}

// What an answer means for a claim decides between giving up, reading again, and failing.
func TestAnswers(t *testing.T) {
	theirs := metav1.StatusCause{
		Type: metav1.CauseTypeFieldManagerConflict, Message: `conflict with "akash-net/akash1x/1/1": .spec.holderIdentity`, Field: ".spec.holderIdentity",
	}
	tests := []struct {
		name                      string
		err                       error
		owned, overtaken, unclear bool
	}{
		{"a field of another manager", answer(409, metav1.StatusReasonConflict, theirs), true, false, false},
		{"an old resourceVersion", answer(409, metav1.StatusReasonConflict), false, true, false},
		{"a create of what exists", answer(409, metav1.StatusReasonAlreadyExists), false, true, false},
		{"another uid", answer(422, metav1.StatusReasonInvalid, metav1.StatusCause{Field: "metadata.uid"}), false, true, false},
		{"another value refused", answer(422, metav1.StatusReasonInvalid, metav1.StatusCause{Field: "spec.holderIdentity"}), false, false, false},
		{"a right that is missing", answer(403, metav1.StatusReasonForbidden), false, false, false},
		{"a server in trouble", answer(503, metav1.StatusReasonServiceUnavailable), false, false, true},
		{"managed fields of a dropped version", answer(500, ""), false, false, true},
		{"no answer", errors.New("connection reset by peer"), false, false, true},
		{"a conflict in a wrapping", fmt.Errorf("host: %w", answer(409, metav1.StatusReasonConflict)), false, true, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if IsOwned(tt.err) != tt.owned || IsOvertaken(tt.err) != tt.overtaken || IsUnclear(tt.err) != tt.unclear {
				t.Errorf("owned %v, overtaken %v, unclear %v; want %v, %v, %v",
					IsOwned(tt.err), IsOvertaken(tt.err), IsUnclear(tt.err), tt.owned, tt.overtaken, tt.unclear)
			}
		})
	}
}

// A conflict names its managers, each once, whether or not the API server adds when they wrote.
func TestOwnersOfAConflict(t *testing.T) {
	cause := func(message string) metav1.StatusCause {
		return metav1.StatusCause{Type: metav1.CauseTypeFieldManagerConflict, Message: message}
	}
	err := answer(409, metav1.StatusReasonConflict,
		cause(`conflict with "kubectl-edit" using networking.k8s.io/v1 at 2026-11-20T10:00:00Z`),
		cause(`conflict with "akash-net/akash1x/1/1"`),
		cause(`conflict with "kubectl-edit" using networking.k8s.io/v1 at 2026-11-20T10:00:00Z`),
	)
	if got, want := Owners(err), []string{"kubectl-edit", "akash-net/akash1x/1/1"}; !slices.Equal(got, want) {
		t.Errorf("owners %q, want %q", got, want)
	}
	if got := Owners(errors.New("no answer")); got != nil {
		t.Errorf("owners of no answer: %q", got)
	}
}
