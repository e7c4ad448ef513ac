// Package e2e fills in the pages of handler/formpage with a real browser. It is a module of
// its own, so that what drives the browser stays out of formsvc's. Run it with make e2e;
// it needs chromium, and npm ci for axe-core.
package e2e
