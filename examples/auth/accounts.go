package main

import (
	"context"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"net/http"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// account is a user of the product.
type account struct {
	ID    int64
	Name  string
	Email string
}

// accounts are the product's tables of users and sessions. They know nothing of
// forms.
type accounts struct {
	pool   *pgxpool.Pool
	now    func() time.Time
	rounds int // of stretching a password
}

var (
	errTaken     = errors.New("an account with this email address already exists")
	errNoSession = errors.New("the session does not exist")
	errPassword  = errors.New("the email address or password is incorrect")
)

const sessionLifetime = 12 * time.Hour

func (a *accounts) migrate(ctx context.Context) error {
	_, err := a.pool.Exec(ctx, `
		CREATE TABLE IF NOT EXISTS accounts (
			id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
			email text NOT NULL UNIQUE,
			name text NOT NULL,
			salt bytea NOT NULL,
			password bytea NOT NULL
		);
		CREATE TABLE IF NOT EXISTS sessions (
			digest bytea PRIMARY KEY, -- of the token: who reads the table cannot sign in
			account_id bigint NOT NULL REFERENCES accounts ON DELETE CASCADE,
			expires_at timestamptz NOT NULL
		)`)
	return err
}

// stretch makes a password slow to guess.
func (a *accounts) stretch(password string, salt []byte) ([]byte, error) {
	return pbkdf2.Key(sha256.New, password, salt, a.rounds, 32)
}

func (a *accounts) register(ctx context.Context, email, name, password string) error {
	salt := make([]byte, 16)
	_, _ = rand.Read(salt) // never fails
	key, err := a.stretch(password, salt)
	if err != nil {
		return err
	}
	_, err = a.pool.Exec(ctx, `INSERT INTO accounts (email, name, salt, password) VALUES ($1, $2, $3, $4)`, email, name, salt, key)
	var violation *pgconn.PgError
	if errors.As(err, &violation) && violation.ConstraintName == "accounts_email_key" {
		return errTaken
	}
	return err
}

// signIn starts a session and returns its token.
func (a *accounts) signIn(ctx context.Context, email, password string) (token string, err error) {
	var (
		id        int64
		salt, key []byte
	)
	err = a.pool.QueryRow(ctx, `SELECT id, salt, password FROM accounts WHERE email = $1`, email).Scan(&id, &salt, &key)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return "", err
	}
	// An address without an account takes as long as a wrong password.
	given, err := a.stretch(password, salt)
	if err != nil {
		return "", err
	}
	if subtle.ConstantTimeCompare(given, key) != 1 {
		return "", errPassword
	}
	token = rand.Text()
	digest := sha256.Sum256([]byte(token))
	_, err = a.pool.Exec(ctx, `INSERT INTO sessions (digest, account_id, expires_at) VALUES ($1, $2, $3)`, digest[:], id, a.now().Add(sessionLifetime))
	return token, err
}

// session returns whose session a token is, or errNoSession.
func (a *accounts) session(ctx context.Context, token string) (account, error) {
	digest := sha256.Sum256([]byte(token))
	var found account
	err := a.pool.QueryRow(ctx, `
		SELECT a.id, a.name, a.email FROM sessions s JOIN accounts a ON a.id = s.account_id
		WHERE s.digest = $1 AND s.expires_at > $2`, digest[:], a.now()).Scan(&found.ID, &found.Name, &found.Email)
	if errors.Is(err, pgx.ErrNoRows) {
		return account{}, errNoSession
	}
	return found, err
}

// current returns the account that is signed in. Without one, it returns http.ErrNoCookie or errNoSession.
func (a *accounts) current(r *http.Request) (account, error) {
	c, err := r.Cookie(sessionCookie)
	if err != nil {
		return account{}, err
	}
	return a.session(r.Context(), c.Value)
}

func (a *accounts) signOut(ctx context.Context, token string) error {
	digest := sha256.Sum256([]byte(token))
	_, err := a.pool.Exec(ctx, `DELETE FROM sessions WHERE digest = $1`, digest[:])
	return err
}
