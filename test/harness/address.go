package harness

import (
	"crypto/sha256"
	"strings"
)

// Address returns a wallet's address for a seed, with the checksum that Akash's programs require (BIP 173).
func Address(seed string) string {
	const alphabet, prefix = "qpzry9x8gf2tvdw0s3jn54khce6mua7l", "akash"
	sum := uint32(1)
	step := func(v byte) {
		top := sum >> 25
		sum = sum&0x1ffffff<<5 ^ uint32(v)
		for i, g := range [...]uint32{0x3b6a57b2, 0x26508e6d, 0x1ea119fa, 0x3d4233dd, 0x2a1462b3} {
			sum ^= g * (top >> i & 1)
		}
	}
	for i := range len(prefix) {
		step(prefix[i] >> 5)
	}
	step(0)
	for i := range len(prefix) {
		step(prefix[i] & 31)
	}
	address := strings.Builder{}
	address.WriteString(prefix + "1")
	for _, b := range sha256.Sum256([]byte(seed)) { // 32 of 5 bits: an address of 20 bytes
		step(b & 31)
		address.WriteByte(alphabet[b&31])
	}
	for range 6 {
		step(0)
	}
	sum ^= 1
	for i := range 6 {
		address.WriteByte(alphabet[sum>>(25-5*i)&31])
	}
	return address.String()
}
