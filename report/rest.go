package report

// Rest says how a lease stands on which the work has failed or was interrupted. It decides how to go on.
type Rest struct {
	// Stays is true if something that the work has changed was not given back.
	Stays bool
	// Held is true if the lease had claims, or objects, before the work: then releasing it would not only undo the work.
	Held bool
	// Former is true if the ledger keeps the definition that it kept before, Rewritten if it keeps that of the work. Neither is true
	// if there is none, or if that is unknown.
	Former, Rewritten bool
}
