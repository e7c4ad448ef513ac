package schema_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v5"

	"github.com/formsvc/formsvc/internal/jsontree"
	"github.com/formsvc/formsvc/internal/lab/expect"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
)

// operation is one operation of the API as it was agreed. It is written down here
// independently of the description.
type operation struct {
	id       string
	method   string
	path     string
	scope    string // "public": no key; "": any key
	params   string // beside those of the path and X-Request-ID
	body     string // component of the request body
	success  string
	response string // component of the response body
	headers  string // of the success, beside those of every response
	errors   string
}

const (
	workspaces = "/v1/workspaces"
	workspace  = workspaces + "/{workspaceId}"
	forms      = "/v1/forms"
	form       = forms + "/{formId}"
	blocks     = form + "/blocks"
	block      = blocks + "/{blockId}"
	submission = form + "/submissions/{submissionId}"
	webhooks   = "/v1/webhooks"
	webhook    = webhooks + "/{webhookId}"
)

var operations = []operation{
	{"getOpenAPI", "get", "/v1/openapi.json", "public", "If-None-Match", "", "200 304", "Description", "ETag", ""},
	{"getMe", "get", "/v1/me", "", "", "", "200", "CurrentUser", "", "401 429"},

	{"listWorkspaces", "get", workspaces, "workspaces:read", "limit cursor", "", "200", "WorkspacePage", "", "401 403 422 429"},
	{"createWorkspace", "post", workspaces, "workspaces:write", "", "WorkspaceWrite", "201", "Workspace", "Location", "401 403 409 422 429"},
	{"getWorkspace", "get", workspace, "workspaces:read", "", "", "200", "Workspace", "", "401 403 404 429"},
	{"updateWorkspace", "patch", workspace, "workspaces:write", "", "WorkspaceWrite", "200", "Workspace", "", "401 403 404 422 429"},
	{"deleteWorkspace", "delete", workspace, "workspaces:write", "", "", "204", "", "", "401 403 404 429"},

	{"listForms", "get", forms, "forms:read", "workspace_id limit cursor", "", "200", "FormPage", "", "401 403 404 422 429"},
	{"createForm", "post", forms, "forms:write", "", "FormCreate", "201", "Form", "ETag Location", "401 403 404 422 429"},
	{"getForm", "get", form, "forms:read", "", "", "200", "Form", "ETag", "401 403 404 429"},
	{"updateForm", "patch", form, "forms:write", "If-Match", "FormUpdate", "200", "Form", "ETag", "401 403 404 412 422 429"},
	{"deleteForm", "delete", form, "forms:write", "If-Match", "", "204", "", "", "401 403 404 412 429"},

	{"listQuestions", "get", form + "/questions", "forms:read", "", "", "200", "BlockList", "ETag", "401 403 404 429"},
	{"listBlocks", "get", blocks, "forms:read", "", "", "200", "BlockList", "ETag", "401 403 404 429"},
	{"createBlock", "post", blocks, "forms:write", "If-Match", "BlockCreate", "201", "Block", "ETag Location", "401 403 404 409 412 422 429"},
	{"replaceBlocks", "put", blocks, "forms:write", "If-Match", "BlocksReplace", "200", "BlockList", "ETag", "401 403 404 412 422 429"},
	{"getBlock", "get", block, "forms:read", "", "", "200", "Block", "ETag", "401 403 404 429"},
	{"updateBlock", "patch", block, "forms:write", "If-Match", "BlockUpdate", "200", "Block", "ETag", "401 403 404 412 422 429"},
	{"deleteBlock", "delete", block, "forms:write", "If-Match", "", "204", "", "ETag", "401 403 404 412 422 429"},

	{"listSubmissions", "get", form + "/submissions", "submissions:read", "since until limit cursor", "", "200", "SubmissionPage", "", "401 403 404 422 429"},
	{"getSubmission", "get", submission, "submissions:read", "", "", "200", "Submission", "", "401 403 404 429"},
	{"deleteSubmission", "delete", submission, "submissions:write", "", "", "204", "", "", "401 403 404 429"},
	{"getMetrics", "get", form + "/analytics/metrics", "analytics:read", "period", "", "200", "AnalyticsMetrics", "", "401 403 404 422 429"},

	{"listWebhooks", "get", webhooks, "webhooks:read", "", "", "200", "WebhookList", "", "401 403 429"},
	{"createWebhook", "post", webhooks, "webhooks:write", "", "WebhookCreate", "201", "Webhook", "Location", "401 403 404 422 429"},
	{"getWebhook", "get", webhook, "webhooks:read", "", "", "200", "Webhook", "", "401 403 404 429"},
	{"updateWebhook", "patch", webhook, "webhooks:write", "", "WebhookUpdate", "200", "Webhook", "", "401 403 404 422 429"},
	{"deleteWebhook", "delete", webhook, "webhooks:write", "", "", "204", "", "", "401 403 404 429"},
	{"listDeliveries", "get", webhook + "/deliveries", "webhooks:read", "", "", "200", "DeliveryList", "", "401 403 404 429"},
}

// errorCodes are the codes of the API with their statuses and types.
var errorCodes = map[string]struct {
	status int
	typ    string
}{
	"MALFORMED_JSON":          {400, "request_error"},
	"INVALID_API_KEY":         {401, "authentication_error"},
	"INSUFFICIENT_SCOPE":      {403, "permission_error"},
	"OWNER_REQUIRED":          {403, "permission_error"},
	"NOT_FOUND":               {404, "not_found_error"},
	"METHOD_NOT_ALLOWED":      {405, "request_error"},
	"WORKSPACE_LIMIT_REACHED": {409, "conflict_error"},
	"BLOCK_EXISTS":            {409, "conflict_error"},
	"REVISION_MISMATCH":       {412, "precondition_error"},
	"BODY_TOO_LARGE":          {413, "request_error"},
	"UNSUPPORTED_MEDIA_TYPE":  {415, "request_error"},
	"INVALID_CURSOR":          {422, "validation_error"},
	"VALIDATION_FAILED":       {422, "validation_error"},
	"WEBHOOK_URL_REJECTED":    {422, "validation_error"},
	"RATE_LIMITED":            {429, "rate_limit_error"},
	"INTERNAL_ERROR":          {500, "server_error"},
	"UNAVAILABLE":             {503, "server_error"},
}

// description is the document as a tree that can be asked by JSON pointer.
type description struct {
	t    *testing.T
	root any
	*jsonschema.Compiler
}

const descriptionURL = "formsvc:///openapi.json"

func open(t *testing.T) description {
	t.Helper()
	return read(t, schema.OpenAPI())
}

func read(t *testing.T, document []byte) description {
	t.Helper()
	d := description{t: t, Compiler: jsonschema.NewCompiler()}
	expect.NoError(t, json.Unmarshal(document, &d.root))
	d.Draft = jsonschema.Draft2020
	d.AssertFormat = true
	d.LoadURL = func(s string) (io.ReadCloser, error) {
		return nil, fmt.Errorf("%s is outside the description", s)
	}
	expect.NoError(t, d.AddResource(descriptionURL, bytes.NewReader(document)))
	return d
}

// find returns what stands at a JSON pointer.
func (d description) find(pointer string) (any, bool) {
	at := d.root
	for token := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		token = strings.NewReplacer("~1", "/", "~0", "~").Replace(token)
		switch v := at.(type) {
		case map[string]any:
			next, ok := v[token]
			if !ok {
				return nil, false
			}
			at = next
		case []any:
			var i int
			if _, err := fmt.Sscanf(token, "%d", &i); err != nil || i < 0 || i >= len(v) {
				return nil, false
			}
			at = v[i]
		default:
			return nil, false
		}
	}
	return at, true
}

// object returns the object at a JSON pointer, behind its reference if it is one.
func (d description) object(pointer string) map[string]any {
	d.t.Helper()
	v, ok := d.find(pointer)
	o, isObject := v.(map[string]any)
	if !ok || !isObject {
		d.t.Fatalf("no object at %s", pointer)
	}
	return d.resolve(o)
}

func (d description) resolve(v any) map[string]any {
	d.t.Helper()
	o, _ := v.(map[string]any)
	if ref, ok := o["$ref"].(string); ok {
		return d.object(strings.TrimPrefix(ref, "#"))
	}
	return o
}

// schema compiles the schema at a JSON pointer.
func (d description) schema(pointer string) *jsonschema.Schema {
	d.t.Helper()
	s, err := d.Compile(descriptionURL + "#" + (&url.URL{Path: pointer}).EscapedPath())
	if err != nil {
		d.t.Fatalf("%s: %v", pointer, err)
	}
	return s
}

func (d description) strings(pointer string) []string {
	d.t.Helper()
	v, _ := d.find(pointer)
	list, _ := v.([]any)
	var out []string
	for _, item := range list {
		out = append(out, fmt.Sprint(item))
	}
	return out
}

func escape(token string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(token)
}

// walk calls visit for every object of the document with its JSON pointer.
func (d description) walk(visit func(pointer string, o map[string]any)) {
	var each func(pointer string, v any)
	each = func(pointer string, v any) {
		switch v := v.(type) {
		case map[string]any:
			visit(pointer, v)
			for name, member := range v {
				each(pointer+"/"+escape(name), member)
			}
		case []any:
			for i, item := range v {
				each(fmt.Sprintf("%s/%d", pointer, i), item)
			}
		}
	}
	each("", d.root)
}

func sorted(words string) []string {
	return slices.Sorted(slices.Values(strings.Fields(words)))
}

func keys(v any) []string {
	o, _ := v.(map[string]any)
	return slices.Sorted(maps.Keys(o))
}

func TestNoObjectOfTheDocumentHasAMemberTwice(t *testing.T) {
	expect.Must(jsontree.Parse(schema.OpenAPI(), jsontree.BodyLimits))
}

func TestTheDocumentCarriesTheVersion(t *testing.T) {
	d := open(t)
	got := d.object("/info")["version"]
	expect.That(t, got == schema.Version && schema.Version == "2026-08-01", "info.version is %v, Version %s", got, schema.Version)
	expect.Equal(t, d.root.(map[string]any)["openapi"], "3.1.0", "openapi")
}

func TestOpenAPIReturnsACopy(t *testing.T) {
	first := schema.OpenAPI()
	clear(first)
	expect.That(t, json.Valid(schema.OpenAPI()), "who changes the returned bytes changes the description")
}

func TestTheDocumentHasTheOperationsOfTheSpecification(t *testing.T) {
	d := open(t)
	expect.Require(t, len(operations) == 29, "the table has %d operations", len(operations))
	var want, got []string
	for _, op := range operations {
		want = append(want, op.method+" "+op.path)
	}
	for path, item := range d.object("/paths") {
		for method := range item.(map[string]any) {
			if method != "parameters" {
				got = append(got, method+" "+path)
			}
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Fatalf("operations\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	tags := map[any]bool{}
	for _, tag := range d.root.(map[string]any)["tags"].([]any) {
		tags[tag.(map[string]any)["name"]] = true
	}
	for _, op := range operations {
		t.Run(op.id, func(t *testing.T) {
			d := d
			d.t = t
			d.checkOperation(op, tags)
		})
	}
}

func (d description) checkOperation(op operation, tags map[any]bool) {
	t := d.t
	at := "/paths/" + escape(op.path)
	o := d.object(at + "/" + op.method)
	equal := func(what string, got, want []string) {
		t.Helper()
		expect.That(t, slices.Equal(got, want), "%s: %v, want %v", what, got, want)
	}

	if o["operationId"] != op.id {
		t.Errorf("operationId is %v", o["operationId"])
	}
	for _, text := range []string{"summary", "description"} {
		s, _ := o[text].(string)
		expect.That(t, s != "", "no %s", text)
	}
	if list, _ := o["tags"].([]any); len(list) != 1 || !tags[list[0]] {
		t.Errorf("tags are %v", o["tags"])
	}

	var security string
	switch op.scope {
	case "public":
		security = `[]`
	case "":
		security = `[{"ApiKey":[]},{"Bearer":[]}]`
	default:
		security = fmt.Sprintf(`[{"ApiKey":[%[1]q]},{"Bearer":[%[1]q]}]`, op.scope)
	}
	if got, _ := json.Marshal(o["security"]); string(got) != security {
		t.Errorf("security is %s, want %s", got, security)
	}

	equal("parameters", d.parameters(at, o), d.expectedParameters(op))

	body, _ := o["requestBody"].(map[string]any)
	expect.Equal(t, bodySchema(body), op.body, "request body")
	expect.That(t, body == nil || body["required"] == true, "the request body is optional")

	responses := o["responses"].(map[string]any)
	equal("statuses", keys(responses), sorted(op.success+" "+op.errors+" default"))
	for status, r := range responses {
		d.checkResponse(op, status, d.resolve(r))
	}
}

// parameters returns the names of the parameters of an operation and its path.
func (d description) parameters(path string, o map[string]any) []string {
	list, _ := o["parameters"].([]any)
	shared, _ := d.object(path)["parameters"].([]any)
	var names []string
	for _, p := range slices.Concat(list, shared) {
		names = append(names, d.resolve(p)["name"].(string))
	}
	slices.Sort(names)
	return names
}

func (d description) expectedParameters(op operation) []string {
	names := append(strings.Fields(op.params), "X-Request-ID")
	for segment := range strings.SplitSeq(op.path, "/") {
		if name, ok := strings.CutPrefix(segment, "{"); ok {
			names = append(names, strings.TrimSuffix(name, "}"))
		}
	}
	slices.Sort(names)
	return names
}

// bodySchema returns the component that describes a JSON body, "" for no body.
func bodySchema(o map[string]any) string {
	content, _ := o["content"].(map[string]any)
	media, _ := content["application/json"].(map[string]any)
	s, _ := media["schema"].(map[string]any)
	ref, _ := s["$ref"].(string)
	return strings.TrimPrefix(ref, "#/components/schemas/")
}

// headers returns the headers of a response as name=component, with a ! behind
// those that are always there.
func (d description) headers(response map[string]any) []string {
	list, _ := response["headers"].(map[string]any)
	var names []string
	for name, h := range list {
		ref, _ := h.(map[string]any)["$ref"].(string)
		text := name + "=" + strings.TrimPrefix(ref, "#/components/headers/")
		if d.resolve(h)["required"] == true {
			text += "!"
		}
		names = append(names, text)
	}
	slices.Sort(names)
	return names
}

func (d description) checkResponse(op operation, status string, r map[string]any) {
	t := d.t
	t.Helper()
	headers := "X-Request-ID=RequestId!"
	switch {
	case status == "default":
		headers += " Cache-Control=CacheControl"
	case op.scope == "public":
		headers += " Cache-Control=PublicCache!"
	default:
		headers += " Cache-Control=NoStore!"
	}
	if op.scope != "public" && status != "401" && status != "default" {
		headers += " RateLimit=RateLimit RateLimit-Policy=RateLimitPolicy"
	}
	want := "Error"
	switch {
	case slices.Contains(strings.Fields(op.success), status):
		for name := range strings.FieldsSeq(op.headers) {
			if op.scope == "public" {
				headers += " " + name + "=Document" + name + "!"
			} else {
				headers += " " + name + "=" + name + "!"
			}
		}
		want = op.response
		if status == "304" {
			want = ""
		}
	case status == "401":
		headers += " WWW-Authenticate=WWWAuthenticate!"
	case status == "412":
		headers += " ETag=ETag!"
	case status == "429":
		headers += " Retry-After=RetryAfter!"
	case status == "default":
		headers += " Allow=Allow Retry-After=RetryLater"
	}
	if got := d.headers(r); !slices.Equal(got, sorted(headers)) {
		t.Errorf("%s: headers %v, want %v", status, got, sorted(headers))
	}
	expect.Equal(t, bodySchema(r), want, "%s: body", status)
	if want != "Error" {
		return
	}
	// Every code of the response has an example, and stands for its status.
	content := r["content"].(map[string]any)["application/json"].(map[string]any)
	var exemplified []string
	for _, example := range content["examples"].(map[string]any) {
		e := example.(map[string]any)["value"].(map[string]any)
		code := e["code"].(string)
		exemplified = append(exemplified, code)
		got := fmt.Sprint(e["status"])
		expect.That(t, status == "default" || got == status, "%s: an example with status %s", status, got)
		expect.That(t, e["status"] == float64(errorCodes[code].status) && e["type"] == errorCodes[code].typ, "%s: example %v", status, e)
	}
	slices.Sort(exemplified)
	var allowed []string
	listed, _ := r["x-error-codes"].([]any)
	for _, code := range listed {
		allowed = append(allowed, code.(string))
		text, _ := r["description"].(string)
		expect.That(t, strings.Contains(text, "`"+code.(string)+"`"), "%s: the description does not name %s", status, code)
	}
	slices.Sort(allowed)
	expect.That(t, slices.Equal(slices.Compact(exemplified), allowed), "%s: codes %v, examples of %v", status, allowed, exemplified)
}

func TestErrorCodesAreThoseOfTheSpecification(t *testing.T) {
	d := open(t)
	codes := d.object("/x-error-codes")
	for code, want := range errorCodes {
		if codes[code] != float64(want.status) {
			t.Errorf("%s has status %v, want %d", code, codes[code], want.status)
		}
	}
	if len(codes) != len(errorCodes) {
		t.Errorf("x-error-codes has %v", keys(codes))
	}
	listed := slices.Sorted(slices.Values(d.strings("/components/schemas/Error/properties/code/x-extensible-enum")))
	want := slices.Sorted(maps.Keys(errorCodes))
	expect.That(t, slices.Equal(listed, want), "the schema lists %v, want %v", listed, want)
	// Every code is the answer of some operation.
	declared := map[string]bool{}
	for _, r := range d.object("/components/responses") {
		content := r.(map[string]any)["content"].(map[string]any)["application/json"].(map[string]any)
		for _, example := range content["examples"].(map[string]any) {
			declared[example.(map[string]any)["value"].(map[string]any)["code"].(string)] = true
		}
	}
	for code := range errorCodes {
		expect.That(t, declared[code], "no response declares %s", code)
	}
}

// constants returns the values of the string constants of a file whose names begin
// with a prefix: what the source declares is the list that the others follow.
func constants(t *testing.T, file, prefix string) []string {
	t.Helper()
	source := expect.Must(parser.ParseFile(token.NewFileSet(), file, nil, 0))
	var values []string
	ast.Inspect(source, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || !strings.HasPrefix(spec.Names[0].Name, prefix) || len(spec.Values) != 1 {
			return true
		}
		if literal, ok := spec.Values[0].(*ast.BasicLit); ok {
			value := expect.Must(strconv.Unquote(literal.Value))
			values = append(values, value)
		}
		return true
	})
	return values
}

// TestVocabulary holds lists of words of the description against those that were agreed.
func TestVocabulary(t *testing.T) {
	d := open(t)
	const schemas = "/components/schemas/"
	colors := `background foreground card cardForeground popover popoverForeground primary primaryForeground secondary
		secondaryForeground muted mutedForeground accent accentForeground destructive destructiveForeground border input
		ring text chart1 chart2 chart3 chart4 chart5 sidebar sidebarForeground sidebarPrimary sidebarPrimaryForeground
		sidebarAccent sidebarAccentForeground sidebarBorder sidebarRing`
	answers := `short_text long_text email phone website number rating opinion_scale nps yes_no legal single_choice
		multiple_choice picture_choice dropdown ranking matrix date time file_upload signature address contact_info country
		payment`
	scopes := storage.Scopes()
	if got := d.strings(schemas + "Scope/x-extensible-enum"); !slices.EqualFunc(slices.Sorted(slices.Values(got)), scopes,
		func(described string, s storage.Scope) bool { return described == string(s) }) {
		t.Errorf("Scope: %v, storage.Scopes has %v", got, scopes)
	}
	for pointer, want := range map[string]string{
		"Scope/x-extensible-enum":                              strings.Join(constants(t, "../storage/scope.go", "Scope"), " "),
		"BlockType/enum":                                       answers + " group captcha welcome statement ending heading text image video pdf embed divider page_break",
		"AnyBlockType/x-extensible-enum":                       strings.Join(d.strings(schemas+"BlockType/enum"), " "),
		"AnswerField/properties/type/x-extensible-enum":        answers + " hidden variable",
		"FormType/enum":                                        "SINGLE MULTI",
		"AnyFormType/x-extensible-enum":                        "SINGLE MULTI",
		"FormStatus/enum":                                      "draft published",
		"AnyFormStatus/x-extensible-enum":                      "draft published",
		"Submission/properties/status/x-extensible-enum":       "completed",
		"Period/enum":                                          "today yesterday 24h 7d 30d 3m 6m 12m all",
		"AnalyticsMetrics/properties/period/x-extensible-enum": strings.Join(d.strings(schemas+"Period/enum"), " "),
		"Icon/enum":                                            "cat circle cloud crown dog droplet flag heart lightbulb pencil skull star thunderbolt tick trophy up user",
		"DateFormat/enum":                                      "MMDDYYYY DDMMYYYY YYYYMMDD",
		"ImageAlign/enum":                                      "inline float_left float_right split_left split_right cover",
		"BadgeType/enum":                                       "letter number",
		"CaptchaType/enum":                                     "none recaptcha hcaptcha turnstile",
		"LegalType/enum":                                       "0 1",
		"ErrorDetail/properties/code/x-extensible-enum":        strings.Join(constants(t, "error.go", "Code"), " "),
		"DeliveryError/x-extensible-enum": strings.Join(append(
			constants(t, "../webhooks/delivery.go", "Class"), constants(t, "../storage/webhook.go", "DeliveryExpired")...), " "),
	} {
		if got := slices.Sorted(slices.Values(d.strings(schemas + pointer))); !slices.Equal(got, sorted(want)) {
			t.Errorf("%s: %v, want %v", pointer, got, sorted(want))
		}
	}
	for pointer, want := range map[string]string{
		"ThemeColors/properties":          colors + " dark",
		"DarkColors/properties":           colors,
		"AddressParts/properties":         "firstName lastName email phone company address address2 city state zip country",
		"BlockWrite/properties":           "id type label description required properties part_of row_id choices children matrix_columns matrix_rows",
		"BlockPropertiesPatch/properties": strings.Join(keys(d.object(schemas+"BlockProperties/properties")), " "),
		"AddressPartsPatch/properties":    "firstName lastName email phone company address address2 city state zip country",

		"Block/properties":      "id type label description required properties part_of row_id choices children matrix_columns matrix_rows",
		"BlockPatch/properties": "id type label description required properties part_of row_id choices children matrix_columns matrix_rows",
		"Choice/properties":     "id label image color row_id alt",
		"BlockProperties/properties": `buttonText buttonLink shareButtons maxChars min max minVal maxVal dateFormat
			dateSeparator disabledDays beforeDate afterDate specificDates weekStartsOn quotationMarks multiSelection randomize
			alphaOrder defaultCountry from to scaleStep limit currency amount paymentGateway showFields showDatePicker
			showLabels superSize otherOption otherText horizontalAlign verticalAlign perRow imageAlign altText imageAlt
			imageWidth icon firstLabel secondLabel thirdLabel leftLabel centerLabel rightLabel addressOrContact legalText
			legalType legalStopFurther showSeconds showTimePicker videoLink pdfLink embedLink captchaType placeholderText
			numberFormat allowedFiles multipleFiles maxFileSize hide showActions badgeType colorOption rule image`,
		"Settings/properties": `branding navigation progressBar singlePage inlineFields borderRadius numberedQuestions
			responseLimit darkMode closed utm showTitle openAt closeAt closedMessage duplicateField onePerRespondent anonymous editable redirectUrl submitLabel cover`,
		"Theme/properties": `logo background colors alignment size font corners logoPlacement layout logoSize coverHeight
			inputs buttons customCss theme`,
	} {
		if got := keys(d.object(schemas + pointer)); !slices.Equal(got, sorted(want)) {
			t.Errorf("%s: %v, want %v", pointer, got, sorted(want))
		}
	}
}

func TestEveryComponentSchemaCompiles(t *testing.T) {
	d := open(t)
	for name := range d.object("/components/schemas") {
		d.schema("/components/schemas/" + name)
	}
}

// blockTypes returns the types that every property names in x-block-types; "*" is
// all of them.
func blockTypes(d description) map[string][]string {
	out := make(map[string][]string)
	for name, property := range d.object("/components/schemas/BlockProperties/properties") {
		list, _ := property.(map[string]any)["x-block-types"].([]any)
		for _, item := range list {
			out[name] = append(out[name], item.(string))
		}
	}
	return out
}

// Every property says which types of blocks it is for, and the table in words says
// the same.
func TestThePropertiesNameTheirBlockTypes(t *testing.T) {
	d := open(t)
	known := d.strings("/components/schemas/BlockType/enum")
	text, _ := d.object("/components/schemas/BlockProperties")["description"].(string)
	rows := make(map[string]string)
	for line := range strings.Lines(text) {
		if cells := strings.Split(strings.TrimSpace(line), " | "); len(cells) == 2 {
			rows[strings.Trim(cells[0], "| `")] = strings.Trim(cells[1], "| ")
		}
	}
	inWords := 0
	for name, types := range blockTypes(d) {
		if slices.Equal(types, []string{"*"}) {
			intro, _, _ := strings.Cut(text, "\n")
			expect.That(t, strings.Contains(intro, "`"+name+"`"), "%s: the text does not say that it is for every type", name)
			continue
		}
		expect.That(t, len(types) != 0, "%s is for no type", name)
		for _, typ := range types {
			inWords++
			expect.That(t, slices.Contains(known, typ), "%s is for %s, which is not a type", name, typ)
			expect.That(t, slices.Contains(strings.Split(rows[typ], ", "), "`"+name+"`"), "the row of %s has no %s", typ, name)
		}
	}
	for _, row := range rows {
		inWords -= strings.Count(row, ", ") + 1
	}
	if inWords != -1 { // the head of the table
		t.Errorf("the rows have %d properties more than x-block-types", -1-inWords)
	}
}

// A merge patch can say everything of a property, and null.
func TestABlockPatchMirrorsTheBlock(t *testing.T) {
	d := open(t)
	for name, property := range d.object("/components/schemas/BlockProperties/properties") {
		example := map[string]any{"string": "", "boolean": true, "integer": 0.0, "number": 0.5, "object": map[string]any{}, "array": []any{}}
		s := d.schema("/components/schemas/BlockPropertiesPatch/properties/" + name)
		expect.Error(t, fmt.Sprintf("%s cannot be null", name), s.Validate(nil), nil)
		typ, _ := property.(map[string]any)["type"].(string)
		if _, ok := example[typ]; !ok {
			continue // named: it refers to the same shape, or to the patch of it
		}
		patch := d.object("/components/schemas/BlockPropertiesPatch/properties/" + name)
		for _, bound := range []string{"minLength", "maxLength", "minimum", "maximum", "pattern", "format"} {
			if got, want := patch[bound], property.(map[string]any)[bound]; got != want {
				t.Errorf("%s: %s is %v in a patch, and %v in a block", name, bound, got, want)
			}
		}
		whole := d.schema("/components/schemas/BlockProperties/properties/" + name)
		for kind, value := range example {
			expect.That(t, (s.Validate(value) == nil) == (whole.Validate(value) == nil),
				"%s: a patch and a block disagree about %s", name, kind)
		}
	}
}

// Requests are refused for what their schemas do not have. Answers may grow: what is only read
// takes members and words that it does not have.
func TestWhatIsSentIsClosedAndWhatIsOnlyReadIsOpen(t *testing.T) {
	d := open(t)
	sent, answered := map[string]bool{}, map[string]bool{}
	var reach func(reached map[string]bool, pointer string)
	reach = func(reached map[string]bool, pointer string) {
		v, _ := d.find(pointer)
		switch v := v.(type) {
		case map[string]any:
			if reached[pointer] {
				return
			}
			reached[pointer] = true
			for name, member := range v {
				switch name {
				case "$ref":
					reach(reached, strings.TrimPrefix(member.(string), "#"))
				case "example", "examples", "headers":
				default:
					reach(reached, pointer+"/"+escape(name))
				}
			}
		case []any:
			for i := range v {
				reach(reached, fmt.Sprintf("%s/%d", pointer, i))
			}
		}
	}
	for path, item := range d.object("/paths") {
		for method := range item.(map[string]any) {
			at := "/paths/" + escape(path) + "/" + method
			if method == "parameters" {
				reach(sent, at)
				continue
			}
			reach(sent, at+"/parameters")
			reach(sent, at+"/requestBody")
			reach(answered, at+"/responses")
		}
	}
	reach(answered, "/webhooks/form.response.completed/post/requestBody")
	at := func(pointer string) map[string]any {
		v, _ := d.find(pointer)
		return v.(map[string]any)
	}
	for pointer := range sent {
		o := at(pointer)
		if _, said := o["additionalProperties"]; !said && o["type"] == "object" || o["x-extensible-enum"] != nil {
			t.Errorf("%s is sent, and open", pointer)
		}
	}
	for pointer := range answered {
		if o := at(pointer); !sent[pointer] && (o["additionalProperties"] == false || o["enum"] != nil) {
			t.Errorf("%s is only read, and closed", pointer)
		}
	}
	expect.That(t, len(sent) >= 300 && len(answered) >= 500, "%d places are sent and %d answered", len(sent), len(answered))
}

// What generators and proxies stumble over.
func TestTheDocumentIsWrittenForTools(t *testing.T) {
	d := open(t)
	annotations := []string{"$ref", "description", "default", "x-block-types"}
	d.walk(func(pointer string, o map[string]any) {
		if strings.Contains(pointer, "/example") || strings.HasSuffix(pointer, "/properties") {
			return // data, and names that callers chose
		}
		for _, keyword := range []string{"if", "then", "else", "allOf", "not"} {
			_, ok := o[keyword]
			expect.That(t, !ok, "%s has %s", pointer, keyword)
		}
		if _, ok := o["$ref"]; ok {
			for name := range o {
				expect.That(t, slices.Contains(annotations, name), "%s has %s beside $ref", pointer, name)
			}
		}
		types := strings.Fields(strings.Trim(fmt.Sprint(o["type"]), "[]"))
		if len(types) > 2 || len(types) == 2 && types[1] != "null" {
			t.Errorf("%s has the types %v", pointer, types)
		}
		for _, typ := range types {
			_, items := o["items"]
			format, _ := o["format"].(string)
			switch {
			case typ == "array" && !items:
				t.Errorf("%s is an array without items", pointer)
			case typ == "integer" && format != "int64", typ == "number" && format != "double":
				t.Errorf("%s is a %s of format %q", pointer, typ, format)
			}
		}
	})
	seen := make(map[string]string)
	for _, kind := range []string{"schemas", "responses", "parameters", "headers"} {
		for name := range d.object("/components/" + kind) {
			other, ok := seen[strings.ToLower(name)]
			expect.That(t, !ok, "%s and %s both have %s: generators make one type of them", kind, other, name)
			seen[strings.ToLower(name)] = kind
		}
	}
	described := slices.Collect(maps.Keys(d.object("/webhooks")))
	const changes = "/webhooks/form.response.completed/post/requestBody/content/application~1json/schema/properties/type"
	for _, name := range d.object(changes)["x-extensible-enum"].([]any) { // described with the event of the submission
		described = append(described, name.(string))
	}
	slices.Sort(described)
	var summarized []string
	for _, name := range d.object("/components/schemas/Delivery/properties/event")["x-extensible-enum"].([]any) {
		summarized = append(summarized, name.(string))
	}
	if slices.Sort(summarized); !slices.Equal(described, summarized) {
		t.Errorf("the events %q are described, and deliveries are of %q", described, summarized)
	}
	event := d.object("/webhooks/form.response.completed/post")
	expect.That(t, event["operationId"] == "formResponseCompleted" && d.object("/info")["license"] != nil,
		"the event has no operationId, or the document no licence")
}
