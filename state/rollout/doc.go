// Package rollout computes the rollout state of a lease's workloads, in Akash's states and in words, from the objects
// of the lease. It does not access a cluster.
package rollout
