// What words of answers are in TypeScript when the description has enum in the place of
// x-extensible-enum: unions, of which the compiler knows every word.
import type { components } from "../../build/words/api.js";

type Schemas = components["schemas"];

export function value(answer: Schemas["Answer"]): string {
	const type = answer.field.type;
	switch (type) {
		case "rating":
		case "nps":
			return `${type}: ${answer.value as Schemas["IntegerAnswer"]}`;
		// @ts-expect-error is no type of an answer
		case "captcha":
			return "";
		default:
			return type;
	}
}

// @ts-expect-error is no code
export const wrong: Schemas["Error"]["code"] = "NOT_FOUNT";
export const right: Schemas["Error"]["code"] = "NOT_FOUND";
