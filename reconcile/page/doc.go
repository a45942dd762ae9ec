// Package page shows the ledger and the reconciler's work as a page for people: who holds what, what is wrong and which command mends
// it, and what is under way. The page follows changes. What it shows is a pure function of what was read (New).
package page
