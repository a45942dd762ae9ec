// Package leaselogs reads what the containers of a lease print, of all its pods at once.
package leaselogs
