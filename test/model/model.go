// Package model walks through all interleavings of the protocol by which hosts and wildcards are claimed. What a
// client does with what it has read is decided by package protocol, as in a real run; the model adds the order of its
// requests, and the API server. A client does one request at a time, and between any two of them everybody else may do
// any of theirs, or crash.
package model

// Phase is what a client does next.
type Phase uint8

// The phases. Those from Won on are ends.
const (
	// Read reads the claim of the thing, and what is above or below it.
	Read Phase = iota
	// Take makes the claim, or puts the run's mark on it, pinned to what was read.
	Take
	// Check looks for the other side: a host for the wildcard above it, a wildcard for hosts below.
	Check
	// Bind makes a pending wildcard bound, pinned.
	Bind
	// Settle removes the run's mark, pinned. From here on the client writes its routes.
	Settle
	// Undo gives back what this run took.
	Undo
	Won
	Lost
	Released
	Crashed
)

func (p Phase) ended() bool { return p >= Won }

// The things that can be claimed: two hosts and the wildcards above them.
const (
	HostA = iota
	HostB
	WildcardX
	WildcardY
	things
)

// claim is an object of the ledger. The zero claim is none.
type claim struct {
	uid, owner, mark uint8
	bound            bool
}

// Client is one deployment group that wants one thing.
type Client struct {
	Owner uint8
	Thing int
	// Fails is true for a client that cannot have something else that it wants: when it has taken its
	// thing it gives it back.
	Fails bool
	// Releases is true for a client that may give up what it has won.
	Releases bool
}

// runner is where a client stands.
type runner struct {
	phase Phase
	// attempt counts the runs: a client that has crashed may run once more.
	attempt uint8
	// saw is the claim as this run has read or written it last, before as it was before the run.
	saw, before claim
}

// Most clients of one world.
const most = 4

// moment is everything at one moment. sweep is a wildcard as somebody saw it who is about to remove
// it as stale.
type moment struct {
	claims  [things]claim
	runners [most]runner
	sweep   claim
	// crashes counts those who have crashed, and who have been taken for it.
	crashes uint8
}

// Rules are the protocol, and the ways to break it.
type Rules struct {
	// Crashes is how many clients may crash, at any moment; each may run once more. Where it is not
	// 0, anybody may take a pending wildcard for stale and remove it.
	Crashes uint8
	// GiveUp lets a host end its wait for a pending wildcard.
	GiveUp bool

	// Symmetric makes a host withdraw at the sight of a pending wildcard.
	Symmetric bool
	// NoSecondRead makes a host rely on what it read before it was claimed.
	NoSecondRead bool
	// NoList makes a wildcard rely on what it read before it was claimed.
	NoList bool
	// Unpinned makes whoever removes a stale wildcard remove what has its name by then.
	Unpinned bool
	// NoMark makes a run give back a claim that another run of its lease relies on.
	NoMark bool
	// OldMark makes a run that fails put back the mark of the run from which it took the claim over,
	// and a run that ends leave the mark of another.
	OldMark bool
	// Unbind makes a run that gives back a wildcard make it pending again, if it was pending before the run.
	Unbind bool
}

// World is a set of clients and the rules that they keep.
type World struct {
	Rules
	Clients []Client
	// Over is the wildcard above each host.
	Over [2]int

	book *book
}

func wildcard(thing int) bool { return thing >= WildcardX }

// run is the nonce of a client's run; 0 is none.
func (s *moment) run(i int) uint8 { return uint8(2*i) + s.runners[i].attempt + 1 }
