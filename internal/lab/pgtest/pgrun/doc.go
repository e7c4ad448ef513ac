// Package pgrun runs PostgreSQL and PgBouncer for tests: it finds their
// programs, installs them when they are missing, and starts servers that are
// thrown away. It uses the standard library only, so that the command that
// brings a server builds before anything else is downloaded.
//
// Servers listen on a Unix socket only, inside a directory that no other user
// can enter. So no password is needed, no port can be taken by somebody else,
// and a superuser without a password is out of other users' reach.
//
// Everything a server needs and makes is inside one temporary directory. It is
// removed by Close; should the process be killed before that, the server ends
// with it (on Linux) and a small shell that waits for this removes the directory.
package pgrun
