package schema

// Warning is something in a definition that makes a form unanswerable, or that has no
// effect. It refuses no write.
type Warning struct {
	// Path is a JSON Pointer into the definition: /blocks/3/properties/max.
	Path string `json:"path"`
	// Code is one of the Warn constants.
	Code string `json:"code"`
	// Message says in English what is wrong.
	Message string `json:"message"`
}

// Warnings are the warnings of one definition: in the order of its blocks, then those of
// its settings. They are those that were found: a form without any
// may still have blocks that are never reached, or members that change nothing.
type Warnings []Warning

// The codes of a [Warning].
const (
	// WarnUnanswerableForm: no response is ever accepted. The warning stands at the blocks;
	// those that no path avoids have a WarnUnanswerableBlock.
	WarnUnanswerableForm = "UNANSWERABLE_FORM"
	// WarnUnanswerableBlock: no answer to the block is ever accepted.
	WarnUnanswerableBlock = "UNANSWERABLE_BLOCK"
	// WarnUnreachable: no respondent ever comes to the block, though it is not hidden. The
	// message says why.
	WarnUnreachable = "UNREACHABLE"
	// WarnNoEffect: a member changes nothing, such as a bound whose switch is off.
	WarnNoEffect = "NO_EFFECT"
	// WarnNoCountry: a phone number is asked for without a defaultCountry, so only a number
	// with the code of its country is taken. The page of package formpage asks for the country.
	WarnNoCountry = "NO_COUNTRY"
	// WarnDuplicateField: settings.duplicateField names no block, or one whose answers are
	// never compared.
	WarnDuplicateField = "DUPLICATE_FIELD"

	// WarnMalformedRule: a part of a rule is not what it must be and is ignored. The rule may
	// be written in another shape ("conditions"), or have no member that counts.
	WarnMalformedRule = "MALFORMED_RULE"
	// WarnUnreadableLogic: logic has an operator that does not exist and is ignored.
	WarnUnreadableLogic = "UNREADABLE_LOGIC"
	// WarnUnknownTarget: a jump leads to a block that the form does not have at the top
	// level, and is ignored.
	WarnUnknownTarget = "UNKNOWN_TARGET"
	// WarnBackwardJump: a jump leads to a block that is not a later one, and is ignored.
	WarnBackwardJump = "BACKWARD_JUMP"
	// WarnUnknownName: a rule reads or sets something that the form does not have.
	WarnUnknownName = "UNKNOWN_NAME"
	// WarnNotYetKnown: a rule reads an answer that is given only after it runs.
	WarnNotYetKnown = "NOT_YET_KNOWN"
	// WarnCostlyRules: the rules together may take more steps than a response may cost,
	// which then is refused.
	WarnCostlyRules = "COSTLY_RULES"
)
