package console

import (
	"bufio"
	"fmt"
	"strings"
	"time"
)

// Confirm asks the user a question, and reports whether the answer is yes. The command's time does not run while it waits.
func (c *Console) Confirm(question string) bool {
	asked := time.Now()
	fmt.Fprintf(c.ErrOut, "%s [y/N] ", question)
	line, _ := bufio.NewReader(c.In).ReadString('\n') // an error means no
	if !strings.HasSuffix(line, "\n") {
		fmt.Fprintln(c.ErrOut) // ends the line of the question
	}
	c.begun = c.begun.Add(time.Since(asked))
	answer := strings.ToLower(strings.TrimSpace(line))
	return answer == "y" || answer == "yes"
}
