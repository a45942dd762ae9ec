// Package leasetest makes what tests of all packages need of leases.
package leasetest

import (
	"strings"

	"github.com/akash-net/kubectl-akash-net/lease"
)

// alphabet are the characters of bech32 (BIP 173), each for five bits.
const alphabet = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"

// Wallet returns an address of Akash with 20 bytes and a right checksum. The same seed gives the same address. It begins
// with those of the seed's characters that bech32 has (all but 1, b, i and o), so that messages can be read.
func Wallet(seed string) string {
	data := strings.Map(func(r rune) rune {
		if !strings.ContainsRune(alphabet, r) {
			return -1
		}
		return r
	}, seed)
	data = data[:min(len(data), 8)]
	for _, r := range lease.Hash(seed) {
		if len(data) < 32 {
			data += string(alphabet[r%32])
		}
	}
	sum := uint32(1)
	step := func(v int) {
		top := sum >> 25
		sum = sum&0x1ffffff<<5 ^ uint32(v)
		for i, g := range [...]uint32{0x3b6a57b2, 0x26508e6d, 0x1ea119fa, 0x3d4233dd, 0x2a1462b3} {
			sum ^= g * (top >> i & 1)
		}
	}
	for _, v := range []int{3, 3, 3, 3, 3, 0, 'a' & 31, 'k' & 31, 'a' & 31, 's' & 31, 'h' & 31} { // the prefix "akash"
		step(v)
	}
	for _, r := range data {
		step(strings.IndexRune(alphabet, r))
	}
	for range 6 {
		step(0)
	}
	address := "akash1" + data
	for i := range 6 {
		address += string(alphabet[(sum^1)>>(5*(5-i))&31])
	}
	return address
}
