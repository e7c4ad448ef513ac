// One piece of work with the client that @hey-api/openapi-ts generates.
import assert from "node:assert/strict";
import {
	createBlock, createForm, createWebhook, createWorkspace, deleteForm, deleteWebhook, deleteWorkspace, getForm, getMe,
	getMetrics, listDeliveries, listSubmissions, replaceBlocks, updateBlock, updateForm,
} from "../../build/hey/client/index.js";
import type { AnswerValue, BlockWrite } from "../../build/hey/client/index.js";
import { client } from "../../build/hey/client/client.gen.js";

const env = (name: string): string => {
	const value = process.env[name];
	assert.ok(value, `${name} is not set`);
	return value;
};

client.setConfig({ baseUrl: env("FORMS_URL"), auth: env("FORMS_KEY") });

// done is the answer of a call that must succeed.
function done<T>(answer: { data?: T; error?: unknown; response?: Response }): NonNullable<T> {
	assert.ok(answer.response?.ok, `${answer.response?.url}: ${answer.response?.status} ${JSON.stringify(answer.error)}`);
	return answer.data as NonNullable<T>;
}

assert.ok(done(await getMe()).scopes.includes("forms:write"));

const workspace = done(await createWorkspace({ body: { name: "Flow" } }));
const form = done(
	await createForm({
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

const read = await getForm({ path });
const stale = read.response?.headers.get("ETag");
assert.ok(stale);
assert.equal(done(read).definition.blocks[2]?.properties?.min, 16777217);

assert.equal(done(await updateForm({ path, headers: { "If-Match": stale }, body: { status: "published" } })).status, "published");
const late = await updateForm({ path, headers: { "If-Match": stale }, body: { name: "Too late" } });
assert.equal(late.response?.status, 412);
assert.ok(late.error && "code" in late.error && late.error.code === "REVISION_MISMATCH");

const blocks: BlockWrite[] = [
	{ id: "found", choices: [{ id: "friend", label: "A friend" }] },
	{ id: "stars", properties: { to: 5 } },
	{ id: "exact", properties: { max: 16777217, maxVal: true } },
];
assert.equal(done(await replaceBlocks({ path, body: { blocks } })).items.length, 3);
done(await createBlock({ path, body: { block: { id: "why", label: "Why?" } } }));
const patched = done(
	await updateBlock({
		path: { ...path, blockId: "stars" },
		body: { block: { label: "How did you like it?", required: null, properties: { icon: "heart" } } },
	}),
);
assert.equal(patched.properties?.icon, "heart");

const webhook = done(
	await createWebhook({ body: { form_id: form.id, url: env("HOOK_URL"), signing_secret: "sixteen characters" } }),
);
assert.equal(webhook.has_secret, true);

const submitted = await fetch(env("CONTROL_URL"), { method: "POST", body: form.id });
assert.equal(submitted.status, 200);

const page = done(await listSubmissions({ path, query: { limit: 10 } }));
assert.deepEqual(page.page, { has_more: false, next_cursor: null });
const values = new Map<string, AnswerValue>(page.items[0]?.answers.map((answer) => [answer.field.id, answer.value]));
assert.equal(values.get("stars"), 4);
assert.equal(values.get("exact"), 16777217);
const found = values.get("found");
assert.ok(typeof found === "object" && "id" in found && found.id === "friend");

// The delivery is made by another goroutine of the service: ask until it is there.
for (let delivered = false; !delivered; ) {
	const list = done(await listDeliveries({ path: { webhookId: webhook.id } }));
	delivered = list.items.some((delivery) => delivery.success && delivery.error === null);
	if (!delivered) await new Promise((resolve) => setTimeout(resolve, 50));
}

assert.equal(done(await getMetrics({ path, query: { period: "7d" } })).submissions, 1);

assert.ok((await deleteWebhook({ path: { webhookId: webhook.id } })).response?.ok);
assert.ok((await deleteForm({ path })).response?.ok);
assert.ok((await deleteWorkspace({ path: { workspaceId: workspace.id } })).response?.ok);
assert.equal((await getForm({ path })).response?.status, 404);
console.log("done");
