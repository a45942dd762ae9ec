package state

import coordinationv1 "k8s.io/client-go/applyconfigurations/coordination/v1"

// Configuration returns what a deployment group applies to hold exactly these parts of the claim. It is pinned to the
// UID and resource version of the object that was read. A new claim has neither.
func (c *Claim) Configuration(namespace string, parts []Part) *coordinationv1.LeaseApplyConfiguration {
	ac := c.pinned(namespace).
		WithLabels(map[string]string{LabelKind: string(c.Kind), LabelOwner: c.Owner}).
		WithAnnotations(map[string]string{AnnotationLedger: LedgerVersion}).
		WithSpec(coordinationv1.LeaseSpec().WithHolderIdentity(c.Owner))
	if c.Kind.HasPorts() {
		ac.WithAnnotations(map[string]string{AnnotationSharingKey: c.SharingKey})
	}
	for _, p := range parts {
		ac.WithAnnotations(map[string]string{p.Key: p.value()})
	}
	return ac
}

// Withdrawal returns what a deployment group applies to give up its parts of the claim while other groups keep theirs.
func (c *Claim) Withdrawal(namespace string) *coordinationv1.LeaseApplyConfiguration {
	return c.pinned(namespace)
}

func (c *Claim) pinned(namespace string) *coordinationv1.LeaseApplyConfiguration {
	ac := coordinationv1.Lease(c.Name(), namespace)
	if c.UID != "" {
		ac.WithUID(c.UID).WithResourceVersion(c.ResourceVersion)
	}
	return ac
}
