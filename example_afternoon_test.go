package formsvc_test

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/formpage"
	"github.com/formsvc/formsvc/storage/postgres"
	"github.com/formsvc/formsvc/webhooks"
)

// sessionTable is the product's own, filled when somebody signs in. It has digests of cookies:
// who reads it signs in as nobody.
const sessionTable = `CREATE TABLE IF NOT EXISTS sessions (digest text PRIMARY KEY, user_id text NOT NULL, ends timestamptz NOT NULL)`

type product struct {
	pool *pgxpool.Pool
	svc  *formsvc.Service
}

// principal finds whose session a cookie is.
func (p *product) principal(ctx context.Context, cookie string) (formsvc.Principal, error) {
	var user string
	digest := fmt.Sprintf("%x", sha256.Sum256([]byte(cookie)))
	err := p.pool.QueryRow(ctx, `SELECT user_id FROM sessions WHERE digest = $1 AND ends > now()`, digest).Scan(&user)
	if errors.Is(err, pgx.ErrNoRows) {
		err = formsvc.ErrInvalidKey
	}
	return formsvc.Principal{KeyID: "session " + digest, UserID: formsvc.UserIDFrom(user), Scopes: formsvc.Scopes()}, err
}

// ResolveKey has the API and the exports take sessions as well as API keys.
func (p *product) ResolveKey(ctx context.Context, credential string) (formsvc.Principal, error) {
	if cookie, ok := strings.CutPrefix(credential, "session:"); ok {
		return p.principal(ctx, cookie)
	}
	return p.svc.ResolveKey(ctx, credential)
}

// keyOrSession is where the API looks for a credential.
func keyOrSession(r *http.Request) string {
	if key := formsvc.Credential(r); key != "" {
		return key
	}
	if cookie, err := r.Cookie("session"); err == nil {
		return "session:" + cookie.Value
	}
	return ""
}

// createForm makes a form with a webhook, and shows where respondents find it.
func (p *product) createForm(w http.ResponseWriter, r *http.Request, mine formsvc.Client) error {
	ctx := r.Context()
	workspace, _ := formsvc.ParseID(r.FormValue("workspace")) // what is no id is the zero ID, which nothing has
	form, err := mine.CreateForm(ctx, formsvc.FormCreate{Workspace: workspace, Name: r.FormValue("name"), Definition: formsvc.Definition{Blocks: json.RawMessage(`[
		{"id": "email", "type": "email", "label": "Your e-mail", "required": true},
		{"id": "score", "type": "nps", "label": "Would you recommend us?", "required": true},
		{"id": "why", "type": "long_text", "label": "Why?"}]`)}})
	if err != nil {
		return err
	}
	if url := r.FormValue("webhook"); url != "" {
		if _, err := mine.CreateWebhook(ctx, formsvc.WebhookCreate{Form: form.ID, URL: url, SigningSecret: r.FormValue("secret")}); err != nil {
			return err
		}
	}
	if form, err = mine.PublishForm(ctx, form.ID); err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "/f/%s /exports/%s.csv", form.PublicID, form.ID)
	return err
}

// erase removes what a respondent sent to a form. Receivers of webhooks are not told.
func (p *product) erase(w http.ResponseWriter, r *http.Request, mine formsvc.Client) error {
	id, _ := formsvc.ParseID(r.PathValue("id"))
	form, err := mine.Form(r.Context(), id) // the calls of the Service itself check no rights
	if err != nil {
		return err
	}
	n, err := p.svc.EraseRespondent(r.Context(), form.ID, map[string]string{"email": r.FormValue("email")})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(w, n, "removed") // zero if no submission matches, or if the address is misspelled
	return err
}

// signedIn serves users of the product, and answers errors with the statuses that the
// documentation of formsvc.Client lists.
func (p *product) signedIn(do func(http.ResponseWriter, *http.Request, formsvc.Client) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		cookie, err := r.Cookie("session")
		if err != nil {
			cookie = &http.Cookie{} // which is nobody's
		}
		who, err := p.principal(r.Context(), cookie.Value)
		if err == nil {
			err = do(w, r, p.svc.As(who.UserID))
		}
		var faults *formsvc.Error // a *formsvc.RejectedURLError is one as well
		switch {
		case err == nil:
		case errors.As(err, &faults):
			w.WriteHeader(http.StatusUnprocessableEntity)
			for _, v := range faults.Violations {
				fmt.Fprintln(w, strings.TrimPrefix(v.Path, "/"), v.Message)
			}
		case errors.Is(err, formsvc.ErrInvalidKey):
			http.Error(w, "sign in", http.StatusUnauthorized)
		case errors.Is(err, formsvc.ErrNotFound):
			http.NotFound(w, r)
		case errors.Is(err, formsvc.ErrUnavailable), errors.Is(err, formsvc.ErrOutcomeUnknown):
			http.Error(w, "try again later", http.StatusServiceUnavailable)
		default:
			slog.ErrorContext(r.Context(), "a request failed", "path", r.URL.Path, "error", err)
			http.Error(w, "an error of ours", http.StatusInternalServerError)
		}
	})
}

// serve serves the product until ctx ends, and stops in order.
func serve(ctx context.Context, listener net.Listener, env func(string) string) error {
	config, err := pgxpool.ParseConfig(env("DATABASE_URL"))
	if err != nil {
		return err
	}
	// A network that falls silent holds nobody for longer.
	config.ConnConfig.ConnectTimeout, config.PingTimeout = 5*time.Second, 5*time.Second
	config.ConnConfig.RuntimeParams["tcp_user_timeout"] = "5000"
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return err
	}
	defer pool.Close()
	if err := postgres.Migrate(ctx, pool); err != nil {
		return err
	}
	if _, err := pool.Exec(ctx, sessionTable); err != nil {
		return err
	}
	block, err := aes.NewCipher([]byte(env("SEAL_KEY"))) // 32 bytes
	if err != nil {
		return err
	}
	seal, err := cipher.NewGCM(block)
	if err != nil {
		return err
	}
	var deliveries webhooks.Config // to public addresses
	if env("DEVELOPMENT") != "" {
		deliveries.AllowedNetworks = []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}
	}
	p := &product{pool: pool}
	p.svc, err = formsvc.New(
		formsvc.WithStorage(postgres.New(pool, postgres.WithLogger(slog.Default()))),
		formsvc.WithSecretCipher(seal), // for the signing secrets of webhooks
		formsvc.WithWebhookConfig(deliveries),
		formsvc.WithKeyResolver(p),
		formsvc.WithCredential(keyOrSession),
		formsvc.WithLogger(slog.Default()))
	if err != nil {
		return err
	}
	pages, err := formpage.New(p.svc, formpage.Config{Secret: []byte(env("PAGE_SECRET")), Logger: slog.Default()})
	if err != nil {
		return err
	}

	mux, all := http.NewServeMux(), http.NewServeMux()
	mux.Handle("/v1/", p.svc)
	mux.Handle("GET /exports/", p.svc.ExportHandler())
	mux.Handle("POST /forms", p.signedIn(p.createForm))
	mux.Handle("POST /forms/{id}/erase", p.signedIn(p.erase))
	all.Handle("/", http.NewCrossOriginProtection().Handler(mux)) // what takes the cookie
	all.Handle("/f/", pages)
	all.HandleFunc("GET /health", func(w http.ResponseWriter, r *http.Request) {
		if err := p.svc.Check(r.Context()); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
		}
	})
	server := &http.Server{Handler: all, ReadTimeout: 15 * time.Second, WriteTimeout: time.Minute}

	delivering, stopDelivering := context.WithCancel(context.WithoutCancel(ctx))
	defer stopDelivering()
	served, delivered := make(chan error, 1), make(chan error, 1)
	go func() { delivered <- p.svc.Dispatcher().Run(delivering) }()
	go func() { served <- server.Serve(listener) }()
	select {
	case <-ctx.Done():
	case err = <-served:
	}
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	if late := server.Shutdown(ending); late != nil {
		err = errors.Join(err, late, server.Close())
	}
	stopDelivering()
	err = errors.Join(err, <-delivered)
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), 3*time.Second)
	defer cancel()
	return errors.Join(err, p.svc.Close(closing))
}

// A product in an afternoon: sessions and API keys, forms of its users, pages for respondents,
// exports, webhooks and erasure, on PostgreSQL.
func Example_afternoon() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	listener, err := net.Listen("tcp", os.Getenv("ADDR"))
	if err == nil {
		err = serve(ctx, listener, os.Getenv)
	}
	stop()
	if err != nil {
		log.Fatal(err)
	}
}
