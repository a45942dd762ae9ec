package state

// What the tables ask, and nobody else.
var (
	ParseAddressName = parseAddressName
	CheckLimits      = checkLimits
	ReadWritten      = readWritten
	ReadStrictly     = readStrictly
)

const WaitPrefix = waitPrefix

// Visited counts the pools that were looked at.
func (x *PoolIndex) Visited() int64 { return x.visited.Load() }
