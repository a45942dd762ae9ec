// Package observed computes the capacity of a cluster for package inventory from its nodes, pods, storage and
// reservations. It is pure: package apply/capacity reads the objects, of which this package keeps only sums.
// docs/fit.md has the rules.
package observed
