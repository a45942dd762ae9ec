package ledger

import (
	"context"
	"encoding/json"
	"fmt"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/state"
)

// announcedOnly selects the announcements of commands.
const announcedOnly = state.LabelKind + "=" + state.KindRun

// Announcements reads and writes the announcements of commands. By them and a mark on the ledger's namespace an uninstall closes the ledger.
type Announcements struct{ objects Objects }

// Put writes an announcement, pinned to what was read. Without a UID it creates one. ErrAgain means that another
// command has written it, or that there was no answer.
func (s Announcements) Put(ctx context.Context, a *state.Announcement) (*state.Announcement, error) {
	ac, force := a.Configuration(s.objects.Namespace), true
	if a.UID == "" {
		ac.WithResourceVersion(cluster.Unwritten)
	}
	body, err := json.Marshal(ac)
	if err != nil {
		return nil, err
	}
	var o *unstructured.Unstructured
	err = s.objects.cluster.Write(ctx, func(write context.Context) (err error) {
		o, err = s.objects.cluster.Dynamic.Resource(cluster.Leases).Namespace(s.objects.Namespace).Patch(write, a.Name(), types.ApplyPatchType, body,
			metav1.PatchOptions{FieldManager: lease.FieldManager, Force: &force, FieldValidation: cluster.SkipFieldValidation})
		return err
	})
	if err != nil {
		return nil, s.objects.again(ctx, err, "patch")
	}
	return s.read(o)
}

// Get reads an announcement. It returns nil if there is none.
func (s Announcements) Get(ctx context.Context, nonce string) (*state.Announcement, error) {
	var o *unstructured.Unstructured
	err := s.objects.cluster.Read(ctx, func() (err error) {
		o, err = s.objects.cluster.Dynamic.Resource(cluster.Leases).Namespace(s.objects.Namespace).Get(ctx, state.AnnouncementName(nonce), metav1.GetOptions{})
		return err
	})
	if apierrors.IsNotFound(err) && !cluster.IsMissingKind(err) {
		return nil, nil //nolint:nilnil // absence is an answer
	}
	if err != nil {
		return nil, s.objects.again(ctx, err, "get")
	}
	return s.read(o)
}

func (s Announcements) read(o *unstructured.Unstructured) (*state.Announcement, error) {
	a, err := state.ReadAnnouncement(o)
	if err != nil && a != nil {
		err = s.Unreadable(a)
	}
	return a, err
}

// Unreadable returns the error of a command that has to wait for an announcement, if that cannot be read, with what to
// do about it.
func (s Announcements) Unreadable(a *state.Announcement) error {
	if a.Unreadable == "" {
		return nil
	}
	return fmt.Errorf("lease.coordination.k8s.io/%s in namespace %s cannot be read as the announcement of a run: %s; look who wrote it. "+
		"Where no command of theirs is at work, delete it: kubectl akash-net repair %s/%s", a.Name(), s.objects.Namespace, a.Unreadable, state.UnreadableClaim, a.Name())
}

// List lists all announcements, not older than the request. Those that cannot be read say so.
func (s Announcements) List(ctx context.Context) ([]*state.Announcement, error) {
	return s.list(ctx, announcedOnly, func(*metav1.ObjectMeta) {}, func() {})
}

// list lists announcements, and passes the metadata of what else the selector selects to other. Every command does, and each announcement
// may name hundreds of deployment groups, so they are decoded from protobuf.
func (s Announcements) list(ctx context.Context, selector string, other func(*metav1.ObjectMeta), restart func()) ([]*state.Announcement, error) {
	all := []*state.Announcement{}
	read := func(list *coordinationv1.LeaseList) {
		for i := range list.Items {
			o := &list.Items[i]
			if _, ok := state.AnnouncedNonce(o.Name); !ok {
				other(&o.ObjectMeta)
			} else if a, _ := state.AnnouncementOf(o); a != nil {
				all = append(all, a)
			}
		}
	}
	err := cluster.EachPage(ctx, s.objects.cluster, cluster.Leases, s.objects.Namespace, metav1.ListOptions{LabelSelector: selector},
		func() *coordinationv1.LeaseList { return &coordinationv1.LeaseList{} }, read, func() {
			all = all[:0]
			restart()
		})
	if err != nil {
		return nil, err
	}
	return all, nil
}

// Delete deletes an announcement, pinned to what was read. ErrAgain means that it has changed or is gone.
func (s Announcements) Delete(ctx context.Context, a *state.Announcement) error {
	opts := metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &a.UID, ResourceVersion: &a.ResourceVersion}}
	err := s.objects.cluster.Write(ctx, func(write context.Context) error { return s.objects.client().Delete(write, a.Name(), opts) })
	switch {
	case err == nil:
		return nil
	case apierrors.IsNotFound(err) && !cluster.IsMissingKind(err):
		return fmt.Errorf("%w: %w", ErrAgain, err)
	}
	return s.objects.again(ctx, err, "delete")
}

// IsClosing reports whether an uninstall removes the ledger, for a command that has seen the announcement of one. It
// marks the ledger's namespace first: whoever may only write Leases cannot close the ledger for others.
func (s Announcements) IsClosing(ctx context.Context) (closing bool, err error) {
	meta, err := s.objects.namespace(ctx)
	if err != nil {
		return false, err
	}
	return meta == nil || meta.Annotations[lease.AnnotationClosing] != "" || meta.DeletionTimestamp != nil, nil
}

// An uninstall closes the ledger: it announces itself, and then marks the ledger's namespace with its nonce. What opens
// the ledger removes the mark first, so a marked namespace belongs to an announced uninstall, or to one that has crashed
// and whose announcement somebody has deleted. Announcements of uninstalls are removed by their metadata alone, so one
// that cannot be read keeps no ledger closed.

// Close marks the ledger's namespace with the nonce of an announced uninstall.
func (s Announcements) Close(ctx context.Context, nonce string) error {
	_, err := s.mark(ctx, nonce, func(string) bool { return true })
	return err
}

// Open removes the mark and the announcements of all uninstalls, and reports whether there was a mark.
func (s Announcements) Open(ctx context.Context) (opened bool, err error) {
	if opened, err = s.mark(ctx, nil, func(now string) bool { return now != "" }); err != nil {
		return false, err
	}
	var closing []string
	err = s.objects.each(ctx, metav1.ListOptions{LabelSelector: announcedOnly}, func(meta *metav1.ObjectMeta) {
		if nonce, ok := state.AnnouncedNonce(meta.Name); ok && isClosing(meta) {
			closing = append(closing, nonce)
		}
	}, func() { closing = nil })
	for _, nonce := range closing {
		if err == nil {
			err = s.endClosing(ctx, nonce)
		}
	}
	return opened, err
}

// OpenAfter removes the mark and the announcement of one uninstall, if they exist.
func (s Announcements) OpenAfter(ctx context.Context, nonce string) error {
	if _, err := s.mark(ctx, nil, func(now string) bool { return now == nonce }); err != nil {
		return err
	}
	return s.endClosing(ctx, nonce)
}

// HasLeftMark reports whether an uninstall whose mark was read has left it without an announcement. An uninstall
// announces itself before it sets the mark, and removes the mark first. So the mark stands alone only if the announcement
// does not exist after the mark was read, and the mark still exists after that. A namespace that is being deleted keeps it.
func (s Announcements) HasLeftMark(ctx context.Context, nonce string) (bool, error) {
	announced, err := s.objects.get(ctx, state.AnnouncementName(nonce))
	if announced != nil || err != nil {
		return false, err
	}
	meta, err := s.objects.namespace(ctx)
	if meta == nil || err != nil {
		return false, err
	}
	return meta.Annotations[lease.AnnotationClosing] == nonce && meta.DeletionTimestamp == nil, nil
}

// endClosing deletes the announcement of an uninstall. It leaves the announcement of any other command.
func (s Announcements) endClosing(ctx context.Context, nonce string) error {
	return s.objects.Until(ctx, func(ctx context.Context) error {
		meta, err := s.objects.get(ctx, state.AnnouncementName(nonce))
		if meta == nil || err != nil || !isClosing(meta) {
			return err
		}
		return s.objects.Delete(ctx, meta.Name, meta.UID, meta.ResourceVersion)
	})
}

// isClosing reports whether an announcement is that of an uninstall.
func isClosing(meta *metav1.ObjectMeta) bool {
	return meta.Annotations[state.AnnotationPhase] == string(state.Closing)
}

// mark sets the mark on the ledger's namespace, or removes it if value is nil, if may allows replacing the current one. It
// reports whether it did. A namespace that is gone or terminating needs no mark.
func (s Announcements) mark(ctx context.Context, value any, may func(now string) bool) (marked bool, err error) {
	live, err := s.objects.cluster.Get(ctx, kinds.Namespace, "", s.objects.Namespace)
	if live == nil || err != nil {
		return false, err
	}
	err = s.objects.cluster.Rewrite(ctx, kinds.Namespace, live, func(_ context.Context, now *unstructured.Unstructured) (func(context.Context) error, error) {
		if now.GetDeletionTimestamp() != nil || !may(now.GetAnnotations()[lease.AnnotationClosing]) {
			return nil, nil //nolint:nilnil // nothing to write
		}
		return func(ctx context.Context) error {
			marked = true
			patch := map[string]any{"metadata": map[string]any{"annotations": map[string]any{lease.AnnotationClosing: value}}}
			return s.objects.cluster.As(lease.FieldManager).MergePinned(ctx, kinds.Namespace, now, patch)
		}, nil
	})
	return marked && err == nil, s.objects.cluster.Explain(err, "patch", cluster.Namespaces)
}
