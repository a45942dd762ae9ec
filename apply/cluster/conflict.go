package cluster

import (
	"errors"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// statusOf is the API server's answer, where the error is one.
func statusOf(err error) (metav1.Status, bool) {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return metav1.Status{}, false
	}
	return status.Status(), true
}

func isAnswer(err error) bool {
	_, ok := statusOf(err)
	return ok
}

// IsOwned is true when server-side apply was refused because another manager owns a field with
// another value. Of the 409s only those with this cause say so (KEP-555).
func IsOwned(err error) bool {
	return apierrors.IsConflict(err) && apierrors.HasStatusCause(err, metav1.CauseTypeFieldManagerConflict)
}

// IsOvertaken is true when a write was pinned to an object that has changed or gone since: a
// resourceVersion that is not the object's (409 without causes, also where there is no object any
// more but the write names a UID), or another UID (422).
func IsOvertaken(err error) bool {
	if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) {
		return !IsOwned(err)
	}
	status, ok := statusOf(err)
	if !ok || status.Code != http.StatusUnprocessableEntity || status.Details == nil {
		return false
	}
	for _, cause := range status.Details.Causes {
		if cause.Field == "metadata.uid" {
			return true
		}
	}
	return false
}

// IsUnclear is true when the request may or may not have taken effect: no answer came, or one
// that says nothing of the object (a gateway's 5xx). A request that was given up because the server
// is away was not sent, nor was one that a gate has refused.
func IsUnclear(err error) bool {
	status, ok := statusOf(err)
	return !IsAway(err) && !IsShut(err) && (!ok || status.Code >= 500)
}

// Owners are the field managers that a conflict names, each once.
func Owners(err error) []string {
	status, _ := statusOf(err)
	if status.Details == nil {
		return nil
	}
	var out []string
	seen := map[string]bool{}
	for _, cause := range status.Details.Causes {
		if _, rest, ok := strings.Cut(cause.Message, `"`); ok {
			if name, _, ok := strings.Cut(rest, `"`); ok && !seen[name] {
				seen[name] = true
				out = append(out, name)
			}
		}
	}
	return out
}

// IsPolicy is true for a write that an admission policy has refused, and not the user's rights.
func IsPolicy(err error) bool {
	return apierrors.IsForbidden(err) && strings.Contains(err.Error(), "ValidatingAdmissionPolicy")
}
