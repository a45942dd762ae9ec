package state

import "strings"

// KindResources is the value of the kind label of a claim that reserves resources for an order (package reserved). Such
// a claim has no parts and is not a Claim.
const KindResources = "resources"

// ReservationPrefix starts the name of each reservation.
const ReservationPrefix = "rs--"

// IsReservation reports whether the name is the name of a reservation.
func IsReservation(name string) bool { return strings.HasPrefix(name, ReservationPrefix) }
