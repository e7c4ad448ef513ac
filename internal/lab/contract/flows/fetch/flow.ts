// One piece of work with the types of openapi-typescript and the client of
// openapi-fetch.
import assert from "node:assert/strict";
import createClient from "openapi-fetch";
import type { components, paths } from "../../build/fetch/api.js";

const env = (name: string): string => {
	const value = process.env[name];
	assert.ok(value, `${name} is not set`);
	return value;
};

const api = createClient<paths>({ baseUrl: env("FORMS_URL"), headers: { "X-API-Key": env("FORMS_KEY") } });

// done is the answer of a call that must succeed.
function done<T>(answer: { data?: T | undefined; error?: unknown; response: Response }): T {
	assert.ok(answer.response.ok, `${answer.response.url}: ${answer.response.status} ${JSON.stringify(answer.error)}`);
	return answer.data as T;
}

const me = done(await api.GET("/v1/me"));
assert.ok(me.scopes.includes("forms:write"));

const workspace = done(await api.POST("/v1/workspaces", { body: { name: "Flow" } }));
const form = done(
	await api.POST("/v1/forms", {
		body: {
			workspace_id: workspace.id,
			name: "Flow",
			definition: {
				blocks: [
					{ id: "stars", type: "rating", label: "How was it?", properties: { to: 5, icon: "star" } },
					{ id: "found", type: "single_choice", choices: [{ id: "friend", label: "A friend" }] },
					{ id: "exact", type: "number", properties: { min: 16777217, minVal: true } },
				],
				variables: { score: 1.5, greeting: "Hello" },
			},
		},
	}),
);
const path = { formId: form.id };

const read = await api.GET("/v1/forms/{formId}", { params: { path } });
const stale = read.response.headers.get("ETag");
assert.ok(stale);
assert.equal(done(read).definition.blocks[2]?.properties?.min, 16777217);

const fresh = await api.PATCH("/v1/forms/{formId}", {
	params: { path, header: { "If-Match": stale } },
	body: { status: "published" },
});
assert.equal(done(fresh).status, "published");
const late = await api.PATCH("/v1/forms/{formId}", {
	params: { path, header: { "If-Match": stale } },
	body: { name: "Too late" },
});
assert.equal(late.response.status, 412);
assert.equal(late.error?.code, "REVISION_MISMATCH");

const blocks: components["schemas"]["BlockWrite"][] = [
	{ id: "found", choices: [{ id: "friend", label: "A friend" }] },
	{ id: "stars", properties: { to: 5 } },
	{ id: "exact", properties: { max: 16777217, maxVal: true } },
];
assert.equal(done(await api.PUT("/v1/forms/{formId}/blocks", { params: { path }, body: { blocks } })).items.length, 3);
done(await api.POST("/v1/forms/{formId}/blocks", { params: { path }, body: { block: { id: "why", label: "Why?" } } }));
const patched = done(
	await api.PATCH("/v1/forms/{formId}/blocks/{blockId}", {
		params: { path: { ...path, blockId: "stars" } },
		body: { block: { label: "How did you like it?", required: null, properties: { icon: "heart" } } },
	}),
);
assert.equal(patched.properties?.icon, "heart");

const webhook = done(
	await api.POST("/v1/webhooks", { body: { form_id: form.id, url: env("HOOK_URL"), signing_secret: "sixteen characters" } }),
);
assert.equal(webhook.has_secret, true);

const submitted = await fetch(env("CONTROL_URL"), { method: "POST", body: form.id });
assert.equal(submitted.status, 200);

const page = done(await api.GET("/v1/forms/{formId}/submissions", { params: { path, query: { limit: 10 } } }));
assert.deepEqual(page.page, { has_more: false, next_cursor: null });
const values = new Map(page.items[0]?.answers.map((answer) => [answer.field.id, answer.value]));
assert.equal(values.get("stars"), 4);
assert.equal(values.get("exact"), 16777217);
const found = values.get("found");
assert.ok(typeof found === "object" && "id" in found && found.id === "friend");

// The delivery is made by another goroutine of the service: ask until it is there.
for (let delivered = false; !delivered; ) {
	const list = done(await api.GET("/v1/webhooks/{webhookId}/deliveries", { params: { path: { webhookId: webhook.id } } }));
	delivered = list.items.some((delivery) => delivery.success && delivery.error === null);
	if (!delivered) await new Promise((resolve) => setTimeout(resolve, 50));
}

const metrics = done(
	await api.GET("/v1/forms/{formId}/analytics/metrics", { params: { path, query: { period: "7d" } } }),
);
assert.equal(metrics.submissions, 1);

done(await api.DELETE("/v1/webhooks/{webhookId}", { params: { path: { webhookId: webhook.id } } }));
done(await api.DELETE("/v1/forms/{formId}", { params: { path } }));
done(await api.DELETE("/v1/workspaces/{workspaceId}", { params: { path: { workspaceId: workspace.id } } }));
const gone = await api.GET("/v1/forms/{formId}", { params: { path } });
assert.equal(gone.error?.code, "NOT_FOUND");
console.log("done");
