// Package state is the ledger without its cluster: what a lease must hold, who holds what, what
// may be taken, which address is next, and the book that people read. It is pure; package apply
// brings it what the cluster holds and carries out what it decides.
package state
