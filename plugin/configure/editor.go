package configure

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
)

// editText opens a text in a file of its own in the editor that KUBE_EDITOR or EDITOR names, or in vi (notepad on Windows), and returns what
// was saved. The value is a command of the shell, as for git; on Windows a program with arguments. The file stays, unless the editor failed.
//
// kubectl's package that does this links every typed client, which each start of the program would pay for.
func editText(text string) (saved, file string, err error) {
	f, err := os.CreateTemp("", "kubectl-akash_net-edit-*.yaml")
	if err != nil {
		return "", "", err
	}
	_, err = f.WriteString(text)
	if err = cmp.Or(err, f.Close()); err == nil {
		err = runEditor(f.Name())
	}
	if err == nil {
		var read []byte
		if read, err = os.ReadFile(f.Name()); err == nil {
			return string(read), f.Name(), nil
		}
	}
	_ = os.Remove(f.Name())
	return "", "", err
}

// runEditor opens a file in the editor and waits until it is closed.
func runEditor(file string) error {
	editor := "vi"
	if runtime.GOOS == "windows" {
		editor = "notepad"
	}
	editor = cmp.Or(os.Getenv("KUBE_EDITOR"), os.Getenv("EDITOR"), editor)
	var cmd *exec.Cmd
	if runtime.GOOS == "windows" {
		words := strings.Fields(editor)
		cmd = exec.Command(words[0], append(words[1:], file)...) //nolint:gosec,noctx // the user's own editor, which an interrupt leaves open
	} else {
		cmd = exec.Command("/bin/sh", "-c", editor+` "$@"`, editor, file) //nolint:gosec,noctx // as above
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("there was a problem with the editor %q: %w", editor, err)
	}
	return nil
}
