package cursor

import (
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/formsvc/formsvc/internal/lab/expect"
	"github.com/formsvc/formsvc/storage"
)

var list = List{Name: "forms", Owner: storage.ID{1}, Filters: "workspace=2"}

func position() storage.Position {
	return storage.Position{Time: time.Date(2026, 11, 20, 8, 33, 1, 5000, time.UTC), ID: storage.ID{7, 8, 9}}
}

func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := storage.Position{
			Time: time.UnixMicro(rapid.Int64Range(-62_167_219_200_000_000, 253_402_300_799_999_999).Draw(t, "micros")).UTC(),
			ID:   storage.ID(rapid.SliceOfN(rapid.Byte(), 12, 12).Draw(t, "id")),
		}
		l := List{
			Name:    rapid.String().Draw(t, "name"),
			Owner:   storage.ID(rapid.SliceOfN(rapid.Byte(), 12, 12).Draw(t, "owner")),
			Filters: rapid.String().Draw(t, "filters"),
		}
		got, err := Decode(l, Encode(l, want))
		expect.Require(t, err == nil && got.Time.Equal(want.Time) && got.ID == want.ID, "got %v, %v; want %v", got, err, want)
	})
}

func TestEveryAlteredCharacterIsRefused(t *testing.T) {
	good := Encode(list, position())
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_+/=\n"
	for i := range good {
		for _, c := range alphabet {
			altered := good[:i] + string(c) + good[i+1:]
			if altered == good {
				continue
			}
			_, err := Decode(list, altered)
			expect.Require(t, errors.Is(err, ErrInvalid), "%q (character %d altered) decodes", altered, i)
		}
	}
	for _, s := range []string{"", good[:len(good)-1], good + "A", good + "=", " " + good} {
		expect.Error(t, fmt.Sprintf("%q decodes", s), expect.ErrorOf(Decode(list, s)), ErrInvalid)
	}
}

func TestForeignCursorsAreRefused(t *testing.T) {
	cursor := Encode(list, position())
	for name, other := range map[string]List{
		"another list":             {Name: "workspaces", Owner: list.Owner, Filters: list.Filters},
		"another owner":            {Name: list.Name, Owner: storage.ID{2}, Filters: list.Filters},
		"another filter":           {Name: list.Name, Owner: list.Owner, Filters: "workspace=3"},
		"name and filter run over": {Name: list.Name + "w", Owner: list.Owner, Filters: list.Filters[1:]},
	} {
		expect.Error(t, fmt.Sprintf("%s: the cursor decodes", name), expect.ErrorOf(Decode(other, cursor)), ErrInvalid)
	}
}

// The digest of a cursor is no secret, so a caller can write one for any time. Not every store can
// compare with each.
func TestTimesAtTheEndsOfTimeAreRefused(t *testing.T) {
	for _, micros := range []int64{math.MinInt64, math.MaxInt64, -1 << 62, 1 << 62, 253_402_300_800_000_000} {
		cursor := Encode(list, storage.Position{Time: time.UnixMicro(micros)})
		expect.Error(t, fmt.Sprintf("the time %d", micros), expect.ErrorOf(Decode(list, cursor)), ErrInvalid)
	}
}

// A cursor in a client's hand outlives a release of the library.
func TestTheEncodingIsFrozen(t *testing.T) {
	const frozen = "AQAGYLEXjylFBwgJAAAAAAAAAAAAKM4sUhOOWljqc-0"
	got := Encode(list, position())
	expect.Require(t, got == frozen, "got %q, want %q", got, frozen)
}

func FuzzDecode(f *testing.F) {
	f.Add(Encode(list, position()))
	f.Add("")
	f.Add("AQ")
	f.Fuzz(func(t *testing.T, s string) {
		p, err := Decode(list, s)
		if err == nil && Encode(list, p) != s {
			t.Fatalf("%q decodes to a position whose cursor is %q", s, Encode(list, p))
		}
	})
}
