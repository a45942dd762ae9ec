// Package state is the ledger without its cluster: what a lease must hold, who holds what, what
// may be taken, which address is next, and what objects say of it. It is pure; package apply brings it what
// the cluster holds and carries out what it decides. Package view makes the book of it that people read,
// package diagnose finds problems and explains.
package state
