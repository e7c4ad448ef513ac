// Command replicas is one of several processes that serve the API together. They share one PostgreSQL
// database, and their rate limits in one Redis.
//
//	replicas -addr 127.0.0.1:8081 -database-url postgres://localhost/forms -redis 127.0.0.1:6379
//	replicas -addr 127.0.0.1:8082 -database-url postgres://localhost/forms -redis 127.0.0.1:6379
//	replicas -addr 127.0.0.1:8083 -database-url postgres://localhost/forms -redis 127.0.0.1:6379
//
// Processes need no other configuration, because they store no state of their own. A load balancer can send
// a request to any process. If a process dies, no acknowledged data is lost. Each process runs a dispatcher.
// The dispatchers share the queue in the database, so no two of them send a delivery concurrently. With
// -dispatch=false, a process runs no dispatcher. At least one process must run one.
//
// The command is a separate module, so that other hosts do not depend on the Redis client.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/redis/go-redis/v9"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/ratelimit"
	"github.com/formsvc/formsvc/storage/postgres"
	"github.com/formsvc/formsvc/webhooks"
)

// config has the values of the flags.
type config struct {
	addr, database, schema, redis string
	redisTimeout                  time.Duration
	rate                          int
	dispatch, loopback            bool
}

func main() {
	var c config
	flag.StringVar(&c.addr, "addr", "127.0.0.1:8080", "address to listen on (port 0 picks a free port)")
	flag.StringVar(&c.database, "database-url", os.Getenv("DATABASE_URL"), "URL of the PostgreSQL database that all processes share")
	flag.StringVar(&c.schema, "schema", "formsvc", "schema in the database")
	flag.StringVar(&c.redis, "redis", "127.0.0.1:6379", "address of the Redis server that all processes share")
	flag.DurationVar(&c.redisTimeout, "redis-timeout", redisTimeout, "timeout of a request to Redis")
	flag.IntVar(&c.rate, "rate", ratelimit.DefaultTokens, "maximum requests per minute and key, over all processes")
	flag.BoolVar(&c.dispatch, "dispatch", true, "send webhooks")
	flag.BoolVar(&c.loopback, "loopback", false, "allow webhooks to this machine (for development)")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, c)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "replicas:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, c config) error {
	logger := slog.New(slog.NewTextHandler(os.Stderr, nil))
	pool, err := pgxpool.New(ctx, c.database)
	if err != nil {
		return err
	}
	defer pool.Close()
	// Processes that start together wait for each other here.
	schema := postgres.WithSchema(c.schema)
	if err := postgres.Migrate(ctx, pool, schema); err != nil {
		return err
	}
	client := redis.NewClient(&redis.Options{Addr: c.redis})
	defer func() { _ = client.Close() }() // the process ends

	var sending webhooks.Config
	if c.loopback {
		sending.AllowedNetworks = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}
	}
	service, err := formsvc.New(
		formsvc.WithStorage(postgres.New(pool, schema)),
		formsvc.WithLimiter(newRedisLimiter(client, c.rate, time.Minute, c.redisTimeout)),
		formsvc.WithWebhookConfig(sending),
		formsvc.WithLogger(logger),
	)
	if err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", c.addr)
	if err != nil {
		return err
	}
	fmt.Printf("listening on %s\n", listener.Addr())
	return serve(ctx, service, listener, c.dispatch)
}

// serve runs until ctx ends, and then in order: nothing new comes in, what is being
// delivered ends, and the rest is for the other processes.
func serve(ctx context.Context, service *formsvc.Service, listener net.Listener, dispatch bool) error {
	server := &http.Server{Handler: service, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 30 * time.Second}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	delivering, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	dispatched := make(chan error, 1)
	if dispatch {
		go func() { dispatched <- service.Dispatcher().Run(delivering) }()
	} else {
		dispatched <- nil
	}
	var err error
	select {
	case <-ctx.Done():
	case err = <-served:
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), 20*time.Second)
	defer cancel()
	err = errors.Join(err, server.Shutdown(grace))
	stop()
	return errors.Join(err, <-dispatched, service.Close(grace))
}
