// Package state holds the rules of the ledger: what a lease must hold, who holds what, which claims may be taken, which
// address comes next, and what objects in the cluster say about hosts and addresses. It is pure: package apply reads
// the cluster for it and carries out what it decides. Package view builds the book that people read from it; package
// diagnose finds and explains problems.
package state
