// Package apidoc fills in the API description for one service.
package apidoc
