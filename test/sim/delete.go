package sim

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// delete deletes an object, or begins to where it has finalizers.
func (s *Server) delete(t target, r *http.Request, body []byte) (int, []byte) {
	live := s.objects[t.path()]
	if live == nil {
		return refusal(apierrors.NewNotFound(t.kind.resource(), t.name))
	}
	opts := &metav1.DeleteOptions{}
	if len(body) > 0 {
		if err := json.Unmarshal(body, opts); err != nil {
			return refusal(apierrors.NewBadRequest(err.Error()))
		}
	}
	as := schema.GroupResource{Group: t.kind.Group, Resource: t.kind.Kind}
	if p := opts.Preconditions; p != nil {
		uid, version := live.object.GetUID(), live.object.GetResourceVersion()
		switch {
		case p.UID != nil && *p.UID != uid:
			return refusal(apierrors.NewConflict(as, t.name, fmt.Errorf("the UID in the precondition (%s) does not match the UID in record (%s). The object might have been deleted and then recreated", *p.UID, uid)))
		case p.ResourceVersion != nil && *p.ResourceVersion != version:
			return refusal(apierrors.NewConflict(as, t.name, fmt.Errorf("the ResourceVersion in the precondition (%s) does not match the ResourceVersion in record (%s). The object might have been modified", *p.ResourceVersion, version)))
		}
	}
	w := &writing{target: t, live: live, dry: slices.Contains(opts.DryRun, metav1.DryRunAll) || r.URL.Query().Has("dryRun")}
	if len(live.object.GetFinalizers()) > 0 || t.kind.plural == "namespaces" {
		if live.object.GetDeletionTimestamp() != nil {
			return http.StatusOK, live.as(r)
		}
		to, now := live.object.DeepCopy(), metav1.NewTime(s.Now().Truncate(time.Second))
		to.SetDeletionTimestamp(&now)
		to.SetDeletionGracePeriodSeconds(new(int64))
		if w.kind.generations {
			to.SetGeneration(to.GetGeneration() + 1)
		}
		s.version++
		o, err := s.store(w, to)
		if err != nil {
			return refusal(err)
		}
		return http.StatusOK, o.as(r)
	}
	if !w.dry {
		s.version++
		delete(s.objects, live.path)
	}
	if t.kind.told {
		last := live.object.DeepCopy()
		if !w.dry {
			last.SetResourceVersion(strconv.FormatInt(s.version, 10))
		}
		o, err := w.read(last)
		if err != nil {
			return refusal(err)
		}
		return http.StatusOK, o.as(r)
	}
	text, err := json.Marshal(metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusSuccess,
		Details: &metav1.StatusDetails{Name: t.name, Group: t.kind.Group, Kind: t.kind.plural, UID: live.object.GetUID()},
	})
	if err != nil {
		return refusal(err)
	}
	return http.StatusOK, text
}
