package cluster

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// statusOf returns the API server's answer, if the error is one.
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

// IsOwned reports whether server-side apply was refused because another manager owns a field with another value. Only a
// 409 with this cause means that (KEP-555).
func IsOwned(err error) bool {
	return apierrors.IsConflict(err) && apierrors.HasStatusCause(err, metav1.CauseTypeFieldManagerConflict)
}

// IsOvertaken reports whether a write was pinned to an object that has changed or gone since. The API server answers a
// stale resourceVersion with a 409 without causes, also if the write names the UID of a missing object, and another UID
// with a 422.
func IsOvertaken(err error) bool {
	if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) {
		return !IsOwned(err)
	}
	status, ok := statusOf(err)
	return ok && status.Code == http.StatusUnprocessableEntity && status.Details != nil &&
		slices.ContainsFunc(status.Details.Causes, func(cause metav1.StatusCause) bool { return cause.Field == "metadata.uid" })
}

// IsUnclear reports whether the request may or may not have taken effect: there was no answer, or one that says nothing
// about the object (a gateway's 5xx). A request that ended in an AwayError, or that a gate refused, was not sent.
func IsUnclear(err error) bool {
	status, ok := statusOf(err)
	return !IsAway(err) && !IsShut(err) && (!ok || status.Code >= 500)
}

// Owners returns the field managers that a conflict names, each once.
func Owners(err error) []string {
	status, _ := statusOf(err)
	if status.Details == nil {
		return nil
	}
	var out []string
	for _, cause := range status.Details.Causes {
		quoted := strings.SplitN(cause.Message, `"`, 3)
		if len(quoted) == 3 && !slices.Contains(out, quoted[1]) {
			out = append(out, quoted[1])
		}
	}
	return out
}

// IsPolicy reports whether an admission policy refused a write, rather than RBAC.
func IsPolicy(err error) bool {
	return apierrors.IsForbidden(err) && strings.Contains(err.Error(), "ValidatingAdmissionPolicy")
}
