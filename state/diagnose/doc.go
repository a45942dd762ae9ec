// Package diagnose finds problems in a cluster, says how to repair each of them, and explains the state of single
// hosts, addresses, leases and orders.
package diagnose
