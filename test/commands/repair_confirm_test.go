package commands

import "testing"

// A problem that is still there after the mend is left, not repaired: here one of Akash's operators has the
// Service, and the application of the definition does not write it.
func TestRepairSaysWhatIsStillThere(t *testing.T) {
	subnet, id := newNet(), leaseOf(newOwner(), 1)
	makePool(t, "confirm", subnet+"0/30", "")
	config := configure(t, "ip: {mode: pool, pool: confirm}")
	mustRun(t, 0, "apply", "--config", config, "-f", define(t, id, leased("game", "public", 7001)))
	more := define(t, id, leased("game", "public", 7001), "{name: db, expose: [{port: 5432}]}")
	mustRun(t, 0, "apply", "--config", config, "--operators=on", "-f", more)
	name := "MixedDefinitions/" + id.Group().String()
	if kinds := problemsOf(t, config, id.Group().String()); len(kinds) != 1 {
		t.Fatalf("the problems are %q", kinds)
	}
	mustRun(t, 0, "repair", "--dry-run", "--config", config, "--operators=on", "-f", more, name).Prints(t, name+" repaired (")
	mustRun(t, 1, "repair", "--config", config, "--operators=on", "-f", more, name).Prints(t, name+" left (it is still there after this: apply the definition")
	mustRun(t, 0, "repair", "--config", config, "-f", more, name).Prints(t, name+" repaired (")
	mustRun(t, 0, "release", "--config", config, id.Group().String())
}
