// Package e2e fills in the pages of handler/formpage with a real browser. It is a module of
// its own, so that what drives the browser stays out of formsvc's. Run it with make e2e;
// it needs chromium
// or Chrome (CHROME_PATH, else the first on PATH), and npm ci for axe-core. Without a
// browser its tests are skipped.
package e2e
