package storage

// Actor identifies the caller of a method: a user or the host. The zero Actor can access nothing.
type Actor struct {
	user  ID
	host  bool
	local bool
}

// As returns the actor that represents user. It can access the workspaces that the user owns or is a member of, and
// their contents. If user is zero, the actor can access nothing.
func As(user ID) Actor { return Actor{user: user} }

// AsHost returns the actor that represents the host, the program that embeds the service. The host can access every
// workspace and passes every ownership check.
func AsHost() Actor { return Actor{host: true} }

// AsLocal returns the actor that represents the host for local webhooks; see [IsLocal]. With this actor, the methods of
// WebhookStore access only local webhooks, including webhooks of forms in the trash, and PausedWebhooks lists only local
// webhooks. With any other actor, these methods access no local webhook. For all other methods, it is the same as AsHost.
func AsLocal() Actor { return Actor{host: true, local: true} }

// User returns the actor's user. It returns false for the host and the zero Actor, which have no user.
func (a Actor) User() (ID, bool) { return a.user, !a.host && !a.user.IsZero() }

// Host reports whether the actor is the host.
func (a Actor) Host() bool { return a.host }

// Local reports whether the actor is the host for local webhooks; see [AsLocal].
func (a Actor) Local() bool { return a.local }
