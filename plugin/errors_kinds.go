package plugin

// toldError ends a command with exit code 1 when standard output tells why already.
type toldError struct{ what string }

func (e *toldError) Error() string { return e.what }

// refusedError ends a command with exit code 4.
type refusedError struct{ error }

func (e *refusedError) Unwrap() error { return e.error }

// diffError is a diff that could not find out whether there are differences.
type diffError struct{ error }

func (e *diffError) Unwrap() error { return e.error }
