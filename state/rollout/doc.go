// Package rollout tells how far what a lease runs is, in Akash's states and in words, from the objects of the lease. It
// asks nothing of a cluster.
package rollout
