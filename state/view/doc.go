// Package view computes the book that people read from the ledger and its objects, with one row for each host, address,
// lease, pool, route and DNS record.
package view
