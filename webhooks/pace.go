package webhooks

import (
	"time"

	"github.com/formsvc/formsvc/storage"
)

// paces remembers how destinations answer that nothing else is known of any more.
type paces struct {
	slow, prompt map[storage.ID]remembered
	pruned       time.Time
}

type remembered struct {
	pace
	until time.Time
}

func newPaces() paces {
	return paces{slow: map[storage.ID]remembered{}, prompt: map[storage.ID]remembered{}}
}

func (p *paces) remember(id storage.ID, how pace, now time.Time) {
	to, from := p.prompt, p.slow
	if how.slow {
		to, from = p.slow, p.prompt
	}
	delete(from, id)
	to[id] = remembered{how, now.Add(rememberedFor)}
	p.prune(now)
}

// recall returns what is remembered of a webhook's destination.
func (p *paces) recall(id storage.ID, url string) (pace, bool) {
	m, ok := p.slow[id]
	if !ok {
		m, ok = p.prompt[id]
	}
	return m.pace, ok && m.url == url
}

// prune drops what is too old, now and then.
func (p *paces) prune(now time.Time) {
	if now.Sub(p.pruned) < rememberedFor {
		return
	}
	p.pruned = now
	for _, all := range []map[storage.ID]remembered{p.slow, p.prompt} {
		for id, m := range all {
			if now.After(m.until) {
				delete(all, id)
			}
		}
	}
}
