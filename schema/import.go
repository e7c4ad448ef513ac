package schema

// ImportReport is the result of an import of submissions.
type ImportReport struct {
	Imported int64         // How many submissions were stored.
	Repeated int64         // How many submissions had been stored by an earlier import.
	Refused  []RefusedLine // The lines that were not stored, in order.
}

// RefusedLine is a line of an import that was not stored.
type RefusedLine struct {
	Line int64 // Starts at 1 and counts empty lines.
	// Err is an *[Error] with all violations of the line, or an error such as storage.ErrDuplicate.
	Err error
}
