// Package apidoc completes the API description for a specific service.
package apidoc
