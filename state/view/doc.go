// Package view shows what the ledger and the objects on it say: the book, with a row for each host, address, lease,
// pool, route and DNS record.
package view
