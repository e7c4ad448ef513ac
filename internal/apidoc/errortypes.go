package apidoc

// ErrorType returns the category of errors with this status, or "" if no error has it.
func ErrorType(status int) string { return errorTypes[status] }

var errorTypes = map[int]string{
	400: "request_error", 405: "request_error", 413: "request_error", 415: "request_error",
	401: "authentication_error", 403: "permission_error", 404: "not_found_error", 409: "conflict_error",
	412: "precondition_error", 422: "validation_error", 429: "rate_limit_error", 500: "server_error", 503: "server_error", 505: "server_error",
}
