//go:build cgo

package webhooks

const cgoEnabled = true
