package change

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Reconciler is the program that watches: one of its own, because what it is built on would cost each command milliseconds at its start.
// Its name is none of a plugin: kubectl would run and complete such a plugin for "kubectl akash-net reconcile", and know no flag of it.
const Reconciler = "akash-net-reconciler"

// beThatProgram runs the reconciler with the same arguments in place of this program. It returns only an error.
func beThatProgram() error {
	path, err := reconcilerBeside()
	if err != nil {
		return err
	}
	return replaceBy(path, os.Args) // by its first argument it knows that they are this program's
}

// reconcilerBeside returns the path of the reconciler: in the folder of this program, or in PATH.
func reconcilerBeside() (string, error) {
	if own, err := os.Executable(); err == nil {
		if own, err = filepath.EvalSymlinks(own); err == nil {
			beside := filepath.Join(filepath.Dir(own), Reconciler+filepath.Ext(own))
			if info, err := os.Stat(beside); err == nil && info.Mode().IsRegular() {
				return beside, nil
			}
		}
	}
	path, err := exec.LookPath(Reconciler)
	if errors.Is(err, exec.ErrNotFound) {
		return "", fmt.Errorf("--watch needs the program %s, which comes in the same archive: put it beside this program, or into PATH", Reconciler)
	}
	return path, err
}
