package storage

// Actor is on whose behalf a call is made. The zero Actor sees nothing.
type Actor struct {
	user ID
	host bool
}

// As returns the actor for a user: it sees the workspaces that the user owns or
// is a member of, and what is in them. As with the zero ID sees nothing.
func As(user ID) Actor { return Actor{user: user} }

// AsHost returns the actor for the program that embeds the service: it sees
// every workspace and passes every owner check.
func AsHost() Actor { return Actor{host: true} }

// User returns the user that the actor acts for, and whether there is one.
func (a Actor) User() (ID, bool) { return a.user, !a.host && !a.user.IsZero() }

// Host reports whether the actor is the host.
func (a Actor) Host() bool { return a.host }
