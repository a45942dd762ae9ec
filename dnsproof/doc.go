// Package dnsproof finds out by DNS whether a host name is its tenant's: a TXT record says whose it
// is, or a CNAME leads into the provider's ingress domain.
package dnsproof
