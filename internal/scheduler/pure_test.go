package scheduler

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// impurities returns what makes the sources of a package depend on more than its
// input: a clock, chance, goroutines, channels, locks or I/O.
func impurities(t *testing.T, sources map[string]string) (found []string) {
	t.Helper()
	files := token.NewFileSet()
	for name, text := range sources {
		file, err := parser.ParseFile(files, name, text, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range file.Imports {
			if path := strings.Trim(i.Path.Value, `"`); !slices.Contains([]string{"bytes", "maps", "slices", "time", "github.com/formsvc/formsvc/storage"}, path) {
				found = append(found, name+" imports "+path)
			}
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.GoStmt, *ast.SelectStmt, *ast.SendStmt, *ast.ChanType:
				found = append(found, files.Position(n.Pos()).String()+" has a goroutine or a channel")
			case *ast.SelectorExpr:
				of, _ := n.X.(*ast.Ident)
				if of != nil && of.Name == "time" && slices.Contains([]string{"Now", "Since", "Until", "After", "AfterFunc", "Sleep", "NewTimer", "NewTicker", "Tick"}, n.Sel.Name) {
					found = append(found, files.Position(n.Pos()).String()+" uses the clock")
				}
			}
			return true
		})
	}
	return found
}

// A number that follows from others belongs in derive.
func TestTwelveNumbersAreIndependent(t *testing.T) {
	t.Parallel()
	if got := reflect.TypeFor[Numbers]().NumField(); got > 12 {
		t.Errorf("Numbers has %d fields, want at most 12", got)
	}
}

func TestTheSchedulerIsPure(t *testing.T) {
	t.Parallel()
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	sources := map[string]string{}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".go") && !strings.HasSuffix(e.Name(), "_test.go") {
			text, err := os.ReadFile(e.Name())
			if err != nil {
				t.Fatal(err)
			}
			sources[e.Name()] = string(text)
		}
	}
	if len(sources) < 5 {
		t.Fatalf("%d files were looked at", len(sources))
	}
	if found := impurities(t, sources); found != nil {
		t.Error(strings.Join(found, "\n"))
	}
	// The test sees what it is for.
	for _, bad := range []string{
		"import \"os\"", "import \"math/rand/v2\"", "import \"time\"\nvar t = time.Now()", "func f() { go f() }", "var c chan int",
	} {
		if impurities(t, map[string]string{"bad.go": "package scheduler\n" + bad}) == nil {
			t.Errorf("%s is not seen", bad)
		}
	}
}
