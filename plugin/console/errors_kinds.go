package console

// ToldError ends a command with exit code 1 when standard output tells why already.
type ToldError struct{ What string }

func (e *ToldError) Error() string { return e.What }

// RefusedError ends a command with exit code 4.
type RefusedError struct{ Err error }

func (e *RefusedError) Error() string { return e.Err.Error() }

// DiffError is a diff that could not find out whether there are differences.
type DiffError struct{ Err error }

func (e *DiffError) Error() string { return e.Err.Error() }

func (e *DiffError) Unwrap() error { return e.Err }
