package lease

import (
	"fmt"
	"strings"
)

// CheckWallet returns an error if s is not the address of a wallet of Akash: it has the form of one (CheckAddress), and
// cosmos-sdk decodes it (types/bech32). Akash's operators stop for all tenants over an object with an address that does
// not decode.
func CheckWallet(s string) error {
	if err := CheckAddress(s); err != nil {
		return err
	}
	if !decodes(s) {
		return fmt.Errorf("%q is not an address of Akash: its checksum is wrong; is there a typing error?", Clip(s))
	}
	return nil
}

// CheckWallets returns an error if the owner or the provider of a lease is not the address of a wallet.
func (id ID) CheckWallets() error {
	if err := id.Group().CheckWallet(); err != nil {
		return err
	}
	if err := CheckWallet(id.Provider); err != nil {
		return fmt.Errorf("provider: %w", err)
	}
	return nil
}

// CheckWallet returns an error if the owner is not the address of a wallet.
func (g Group) CheckWallet() error {
	if err := CheckWallet(g.Owner); err != nil {
		return fmt.Errorf("owner: %w", err)
	}
	return nil
}

// decodes reports whether the text is bech32 (BIP 173): its checksum is right, and its data are whole bytes.
func decodes(address string) bool {
	const alphabet = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"
	const checksum = 6
	prefix, data, ok := strings.Cut(address, "1")
	if !ok || len(data) <= checksum {
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
	last := 0 // the last character before the checksum
	for i := range len(data) {
		v := strings.IndexByte(alphabet, data[i])
		if v < 0 {
			return false
		}
		if i == len(data)-checksum-1 {
			last = v
		}
		step(uint32(v))
	}
	// Each character has five bits. Those beyond the last whole byte are fewer than five, and zero.
	rest := (len(data) - checksum) * 5 % 8
	return sum == 1 && rest < 5 && last&(1<<rest-1) == 0
}
