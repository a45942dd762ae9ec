package session

import (
	"flag"
	"io"
	"regexp"
	"strconv"

	"github.com/spf13/pflag"
	"k8s.io/klog/v2"
)

// addVerbosity adds -v, as kubectl has it.
func (c *Session) addVerbosity(flags *pflag.FlagSet) {
	flags.IntVarP(&c.verbosity, "v", "v", 0,
		"How much is logged of the requests to the cluster: 6 for what they ask for, 7 and 8 also for headers and bodies, without credentials")
}

// logTo logs what client-go does, up to a level of verbosity.
func logTo(out io.Writer, verbosity int) {
	if verbosity < 1 {
		return // errors include what client-go logs
	}
	set := flag.NewFlagSet("klog", flag.ContinueOnError)
	klog.InitFlags(set)
	for name, value := range map[string]string{
		"logtostderr": "false", "stderrthreshold": "FATAL", "v": strconv.Itoa(verbosity), // otherwise it writes around the status line
	} {
		_ = set.Set(name, value) // these exist
	}
	klog.ClearLogger()
	klog.SetOutput(out)
	klog.SetLogFilter(redacting{})
}

// redacting is a klog.LogFilter that leaves out the data of Secrets. client-go masks the credentials in headers.
type redacting struct{}

// Filter filters the arguments of a message.
func (redacting) Filter(args []any) []any { return redact(args) }

// FilterF filters a format and its arguments.
func (redacting) FilterF(format string, args []any) (string, []any) { return format, redact(args) }

// FilterS filters the keys and values of a structured message.
func (redacting) FilterS(msg string, pairs []any) (string, []any) { return msg, redact(pairs) }

// secretData matches the data of a Secret in JSON, which a log may have cut off. That of a ConfigMap looks the same.
var secretData = regexp.MustCompile(`("(?:data|stringData)":\s*\{)(?:\s*"(?:[^"\\]|\\.)*(?:"|\\?$)\s*:?\s*(?:"(?:[^"\\]|\\.)*(?:"|\\?$))?\s*,?)*`)

// lastApplied matches what kubectl has applied, which an annotation has: of a Secret its data, too.
var lastApplied = regexp.MustCompile(`("kubectl\.kubernetes\.io/last-applied-configuration":\s*")(?:[^"\\]|\\.)*\\?`)

// redact returns values without the data of Secrets.
func redact(values []any) []any {
	out := make([]any, len(values))
	for i, v := range values {
		if text, ok := v.(string); ok {
			v = secretData.ReplaceAllString(lastApplied.ReplaceAllString(text, "$1<left out>"), "$1<left out>")
		}
		out[i] = v
	}
	return out
}
