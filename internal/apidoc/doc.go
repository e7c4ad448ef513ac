// Package apidoc fills in the API description for one service, and holds responses
// against what it promises.
package apidoc
