// Package admission decides which of the live routes are admitted: one pure function of the set of
// Ingresses, HTTPRoutes and OpenShift Routes, the provider's rules, and the ledger's claims.
//
// Where there is no claim the answer is that of OpenShift's router after a fresh start: its chain
// of checks (openshift/router: HostAdmitter, then UniqueHost) over all routes from the oldest to the
// newest. The router itself goes on from what it has answered before, and its answers drift from
// those; nothing here remembers anything.
package admission
