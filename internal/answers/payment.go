package answers

import (
	"strings"

	"github.com/formsvc/formsvc/internal/jsontree"
)

// paymentRule checks payment.
type paymentRule struct{ amount, currency, gateway string }

func (t paymentRule) check(w *jsontree.Writer, n jsontree.Node, r *report) {
	o, ok := newHostObject(n, r, "amount", "currency", "status", "gateway", "reference")
	if !ok {
		return
	}
	amount := o.amount()
	currency := strings.ToUpper(o.text("currency", t.currency))
	if currency != "" && !isCurrency(currency) {
		r.addMember(n, "currency", badFormat("currency", "must be a currency code of three letters, such as EUR"))
	}
	status, gateway, reference := o.text("status", ""), o.text("gateway", t.gateway), o.optional("reference")
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

// amount returns the decimal number that was paid. Its digits stay as they are:
// 10.00 is how an amount is written.
func (o hostObject) amount() string {
	n := o.n.Member("amount")
	switch {
	case isBlank(n):
		o.missing("amount")
		return ""
	case n.Kind() != jsontree.String && n.Kind() != jsontree.Number:
		o.r.add(n, wrongType("string", "must be an amount, such as 10.00"))
	case !isDecimal(n.Text()):
		o.r.add(n, badFormat("decimal", "must be an amount, such as 10.00"))
	}
	return n.Text()
}

func (t paymentRule) sample() string {
	payment := paymentRule{amount: "10.00", currency: "EUR", gateway: "sample"}
	if isDecimal(t.amount) {
		payment.amount = t.amount
	}
	if isCurrency(strings.ToUpper(t.currency)) {
		payment.currency = t.currency
	}
	if t.gateway != "" {
		payment.gateway = t.gateway
	}
	var w jsontree.Writer
	w.Object()
	w.Name("amount").String(payment.amount)
	w.Name("currency").String(payment.currency)
	w.Name("status").String("paid")
	w.Name("gateway").String(payment.gateway)
	w.Name("reference").String("sample")
	w.EndObject()
	return string(w.Bytes())
}

const maxDecimal = 64 // characters

// isDecimal reports whether text is digits with at most one dot inside.
func isDecimal(text string) bool {
	whole, fraction, hasDot := strings.Cut(text, ".")
	return len(text) <= maxDecimal && isDigits(whole) && (!hasDot || isDigits(fraction))
}

func isDigits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

func isCurrency(s string) bool {
	return len(s) == 3 && strings.Trim(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") == ""
}
