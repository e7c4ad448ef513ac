// The pages that belong to a form. This script is loaded when the first form is opened.
import { Editor } from './editor/Editor';
import { PublishFlow } from './editor/Publish';
import { Versions } from './editor/Versions';
import { Results } from './results/Results';
import { Webhooks } from './webhooks/Webhooks';

/** A form's pages, by the second path segment. */
export const formPages = { '': Editor, results: Results, webhooks: Webhooks, versions: Versions } as const;

export { PublishFlow as Publishing };
