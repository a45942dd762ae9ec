// Package admission decides which live routes are admitted. It is one pure function of the Ingresses, HTTPRoutes and
// OpenShift Routes, the provider's rules, and the ledger's claims.
//
// Without claims the result is that of a freshly started OpenShift router: its chain of checks (openshift/router:
// HostAdmitter, then UniqueHost), applied to all routes from the oldest to the newest. A running router remembers its
// earlier decisions, so its results may differ. This package remembers nothing.
package admission
