package state

import "strings"

// KindResources is the kind, as its label says it, of a claim that reserves resources for an order (package
// state/reserved). It has no parts, and no list of claims has it.
const KindResources = "resources"

// StartOfReservation begins the name of a reservation.
const StartOfReservation = "rs--"

// IsReservation is true for the name of a reservation.
func IsReservation(name string) bool { return strings.HasPrefix(name, StartOfReservation) }

// LedgerVersion is the version of the ledger that this program writes and trusts.
const LedgerVersion = ledgerVersion
