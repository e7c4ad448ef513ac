package answers

const (
	codeMalformed       = "MALFORMED"
	codeUnknownVariable = "UNKNOWN_VARIABLE"
	codeUnknownTarget   = "UNKNOWN_TARGET"
	codeBackwardJump    = "BACKWARD_JUMP"
	codeUnreadableLogic = "UNREADABLE_LOGIC"
)
