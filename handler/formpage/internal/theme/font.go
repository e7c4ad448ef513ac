package theme

import "strings"

// fonts are the families that systems have. A form loads none.
var fonts = map[string]string{
	"":          "",
	"serif":     "ui-serif,Georgia,Cambria,\"Times New Roman\",serif",
	"mono":      "ui-monospace,SFMono-Regular,Menlo,Consolas,monospace",
	"monospace": "ui-monospace,SFMono-Regular,Menlo,Consolas,monospace",
	"rounded":   "ui-rounded,\"SF Pro Rounded\",\"Hiragino Maru Gothic ProN\",Quicksand,Nunito,system-ui,sans-serif",
}

// fontFamily writes a font's name with what stands in for it.
func fontFamily(name string) string {
	name = strings.TrimSpace(name)
	if stack, ok := fonts[strings.ToLower(name)]; ok {
		return stack
	}
	plain := strings.Map(func(c rune) rune {
		if c == ' ' || c == '-' || c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || c > 0x7f && c != 0x2028 && c != 0x2029 {
			return c
		}
		return -1
	}, name)
	if plain == "" || len(plain) > 100 {
		return ""
	}
	stack := "system-ui,sans-serif"
	lower := strings.ToLower(plain)
	switch {
	case strings.Contains(lower, "mono") || strings.Contains(lower, "code"):
		stack = fonts["mono"]
	case strings.Contains(lower, "serif") && !strings.Contains(lower, "sans"), strings.Contains(lower, "georgia"),
		strings.Contains(lower, "times"), strings.Contains(lower, "garamond"), strings.Contains(lower, "playfair"),
		strings.Contains(lower, "merriweather"), strings.Contains(lower, "lora"):
		stack = fonts["serif"]
	}
	return `"` + plain + `",` + stack
}
