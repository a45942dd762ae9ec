// Package observed folds what a cluster holds (nodes, pods, storage, reservations) into what there is to give out, as
// package inventory needs it. It is pure: package apply/capacity brings it the objects, of which it keeps no more than
// sums. docs/cluster-service.md has the rules.
package observed
