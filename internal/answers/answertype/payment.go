package answertype

import (
	"cmp"
	"strings"

	"github.com/formsvc/formsvc/internal/jsontree"
	"github.com/formsvc/formsvc/schema"
)

// paymentRule checks payment blocks. A field is empty if the block does not set it or sets an invalid value.
type paymentRule struct{ amount, currency, gateway string }

func newPayment(b *schema.Block, _ ServiceConfig) Rule {
	p := b.Properties
	rule := paymentRule{gateway: p.PaymentGateway}
	if isDecimal(p.Amount) {
		rule.amount = p.Amount
	}
	if currency := strings.ToUpper(p.Currency); isCurrencyCode(currency) {
		rule.currency = currency
	}
	return rule
}

const statusPaid = "paid"

func (t paymentRule) Check(w *jsontree.Writer, n jsontree.Node, r *Report) {
	o, ok := newHostObject(n, r, "amount", "currency", "status", "gateway", "reference")
	if !ok {
		return
	}
	amount := o.readAmount()
	currency := strings.ToUpper(o.readText("currency", t.currency))
	switch {
	case currency == "": // already reported
	case !isCurrencyCode(currency):
		r.addMember(n, "currency", ViolationBadFormat("currency", "must be a three-letter currency code, such as EUR"))
	case t.currency != "" && currency != t.currency:
		r.addMember(n, "currency", ViolationNotAllowed("currency", "must be in "+t.currency, t.currency))
	}
	if amount != "" && t.amount != "" && canonicalDecimal(amount) != canonicalDecimal(t.amount) {
		r.addMember(n, "amount", ViolationNotAllowed("amount", "must be "+t.amount, t.amount))
	}
	status, gateway, reference := o.readText("status", ""), o.readText("gateway", t.gateway), o.readOptionalText("reference")
	if r.Required && status != "" && status != statusPaid {
		r.addMember(n, "status", Violation{Code: schema.CodeRequired, Message: `must be "paid"`})
	}
	w.Object()
	w.Name("amount").String(amount)
	w.Name("currency").String(currency)
	w.Name("status").String(status)
	w.Name("gateway").String(gateway)
	if reference != "" {
		w.Name("reference").String(reference)
	}
	w.EndObject()
}

// readAmount returns the paid amount with its digits unchanged, such as 10.00, or "" if the amount is invalid.
func (o hostObject) readAmount() string {
	n := o.n.Member("amount")
	text := strings.TrimSpace(n.Text())
	switch {
	case IsBlank(n):
		o.addMissing("amount")
	case n.Kind() != jsontree.String && n.Kind() != jsontree.Number:
		o.r.add(n, violationWrongType("string", "must be an amount, such as 10.00"))
	case !isDecimal(text):
		o.r.add(n, ViolationBadFormat("decimal", "must be an amount, such as 10.00"))
	default:
		return text
	}
	return ""
}

func (t paymentRule) Sample() string {
	return EncodeJSON(schema.Payment{
		Amount: cmp.Or(t.amount, "10.00"), Currency: cmp.Or(t.currency, "EUR"), Status: statusPaid, Gateway: cmp.Or(t.gateway, "sample"), Reference: "sample",
	})
}

const maxDecimal = 64 // maximum characters

// isDecimal reports whether text consists of digits with at most one inner dot.
func isDecimal(text string) bool {
	whole, fraction, hasDot := strings.Cut(text, ".")
	return len(text) <= maxDecimal && isDigits(whole) && (!hasDot || isDigits(fraction))
}

// canonicalDecimal removes leading and trailing zeros, so that 010.50 becomes 10.5.
func canonicalDecimal(text string) string {
	whole, fraction, _ := strings.Cut(text, ".")
	return strings.TrimLeft(whole, "0") + "." + strings.TrimRight(fraction, "0")
}

func isDigits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

func isCurrencyCode(s string) bool {
	return len(s) == 3 && strings.Trim(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") == ""
}

func (t paymentRule) warnIneffective(b *schema.Block, warn func(name string, why Explanation)) {
	if t.amount == "" && b.Properties.Amount != "" {
		warn("amount", Explanation{Reason: "amount", Message: "this is not an amount such as 10.00, so payments are not checked against it"})
	}
	if t.currency == "" && b.Properties.Currency != "" {
		warn("currency", Explanation{Reason: "currency", Message: "this is not a three-letter currency code, so payments are not checked against it"})
	}
}
