package lease

import "strings"

// ChecksumOK reports whether the bech32 checksum of the address is correct (BIP 173). It catches typing errors; names
// in the cluster would accept any address.
func ChecksumOK(address string) bool {
	const alphabet = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"
	prefix, data, ok := strings.Cut(address, "1")
	if !ok || len(data) < 6 {
		return false
	}
	sum := uint32(1)
	step := func(v uint32) {
		top := sum >> 25
		sum = sum&0x1ffffff<<5 ^ v
		for i, g := range [...]uint32{0x3b6a57b2, 0x26508e6d, 0x1ea119fa, 0x3d4233dd, 0x2a1462b3} {
			if top>>i&1 == 1 {
				sum ^= g
			}
		}
	}
	for i := range len(prefix) {
		step(uint32(prefix[i] >> 5))
	}
	step(0)
	for i := range len(prefix) {
		step(uint32(prefix[i] & 31))
	}
	for i := range len(data) {
		v := strings.IndexByte(alphabet, data[i])
		if v < 0 {
			return false
		}
		step(uint32(v))
	}
	return sum == 1
}
