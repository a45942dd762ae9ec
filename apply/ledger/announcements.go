package ledger

import (
	"cmp"
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
	"github.com/akash-net/kubectl-akash-net/state"
)

// Announced selects the announcements of commands.
const Announced = state.LabelKind + "=" + state.KindRun

// Announce writes an announcement, pinned to what was read. Without a UID it creates one. ErrAgain means that another
// command has written it, or that there was no answer.
func (l Ledger) Announce(ctx context.Context, a *state.Announcement) (*state.Announcement, error) {
	ac, force := a.Configuration(l.Namespace), true
	if a.UID == "" {
		ac.WithResourceVersion(cluster.Unwritten)
	}
	body, err := json.Marshal(ac)
	if err != nil {
		return nil, err
	}
	var o *unstructured.Unstructured
	err = l.cluster.Write(ctx, func(write context.Context) (err error) {
		o, err = l.cluster.Dynamic.Resource(cluster.Leases).Namespace(l.Namespace).Patch(write, a.Name(), types.ApplyPatchType, body,
			metav1.PatchOptions{FieldManager: lease.FieldManager, Force: &force, FieldValidation: cluster.SkipFieldValidation})
		return err
	})
	if err != nil {
		return nil, l.again(ctx, err, "patch")
	}
	return l.readAnnouncement(o)
}

// Announcement reads an announcement. It returns nil if there is none.
func (l Ledger) Announcement(ctx context.Context, nonce string) (*state.Announcement, error) {
	var o *unstructured.Unstructured
	err := l.cluster.Read(ctx, func() (err error) {
		o, err = l.cluster.Dynamic.Resource(cluster.Leases).Namespace(l.Namespace).Get(ctx, state.AnnouncementName(nonce), metav1.GetOptions{})
		return err
	})
	if apierrors.IsNotFound(err) && !cluster.IsMissingKind(err) {
		return nil, nil //nolint:nilnil // absence is an answer
	}
	if err != nil {
		return nil, l.again(ctx, err, "get")
	}
	return l.readAnnouncement(o)
}

func (l Ledger) readAnnouncement(o *unstructured.Unstructured) (*state.Announcement, error) {
	a, err := state.ReadAnnouncement(o)
	return a, l.unreadable(o, err)
}

// unreadable adds to an error what to do about an announcement that cannot be read. A command that cannot read which
// groups it names has to wait.
func (l Ledger) unreadable(o metav1.Object, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w; look who wrote it, and delete it where no command of theirs is at work: "+
		"kubectl -n %s delete lease.coordination.k8s.io/%s", err, l.Namespace, o.GetName())
}

// Announcements lists all announcements, not older than the request. Every command lists them, and each may name
// hundreds of deployment groups, so they are decoded from protobuf.
func (l Ledger) Announcements(ctx context.Context) ([]*state.Announcement, error) {
	all, unread := []*state.Announcement{}, error(nil)
	read := func(list *coordinationv1.LeaseList) {
		for i := range list.Items {
			o := &list.Items[i]
			if _, ok := state.AnnouncedNonce(o.Name); !ok {
				continue // a malformed claim
			}
			a, err := state.AnnouncementOf(o)
			all, unread = append(all, a), cmp.Or(unread, l.unreadable(o, err))
		}
	}
	err := cluster.EachPage(ctx, l.cluster, cluster.Leases, l.Namespace, metav1.ListOptions{LabelSelector: Announced},
		func() *coordinationv1.LeaseList { return &coordinationv1.LeaseList{} }, read, func() { all, unread = all[:0], nil })
	if err = cmp.Or(err, unread); err != nil {
		return nil, err
	}
	return all, nil
}

// Unannounce deletes an announcement, pinned to what was read. ErrAgain means that it has changed or is gone.
func (l Ledger) Unannounce(ctx context.Context, a *state.Announcement) error {
	opts := metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &a.UID, ResourceVersion: &a.ResourceVersion}}
	err := l.cluster.Write(ctx, func(write context.Context) error { return l.client().Delete(write, a.Name(), opts) })
	switch {
	case err == nil:
		return nil
	case apierrors.IsNotFound(err) && !cluster.IsMissingKind(err):
		return fmt.Errorf("%w: %w", ErrAgain, err)
	}
	return l.again(ctx, err, "delete")
}
