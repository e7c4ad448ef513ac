// Command cluster runs three hosts of formsvc on three PostgreSQL under Patroni, breaks
// something again and again, and counts what was acknowledged:
//
//	go run . -faults 20
//
// Each machine is a network namespace of this program, so nothing outside is touched and
// nothing is left when it ends. The files are in the order in which to read them:
//
//   - nodes.go: PostgreSQL, Patroni and etcd, with their configuration
//   - pooler.go: PgBouncer and HAProxy, as a second way to the leader
//   - pool.go, limiter.go, host.go: what a host sets, and its program
//   - driver.go: the clients, and what they check on the way
//   - faults.go: what is broken, and when all is well again
//   - ledger.go: what is compared in the end
//   - cluster.go puts it all together, main.go has the flags; namespaces.go, network.go and
//     supervisor.go stand for machines, cables and systemd
//
// It is a module of its own, so that Redis' client is nobody's but its.
package main
