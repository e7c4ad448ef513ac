package formpage

// Uncached returns a handler that does the same and has drawn nothing yet.
func (h *Handler) Uncached() *Handler {
	return &Handler{service: h.service, config: h.config, signer: h.signer, words: h.words, logger: h.logger, clock: h.clock, serviceFile: h.serviceFile}
}

// BlankPages is how many drawn pages the handler keeps.
func (h *Handler) BlankPages() int {
	h.blanks.mu.RLock()
	defer h.blanks.mu.RUnlock()
	return len(h.blanks.entries)
}
