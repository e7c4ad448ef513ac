// What the pages of one form need beside the list of forms: loaded when the first one is opened.
import { Editor } from './editor/Editor';
import { PublishFlow } from './editor/Publish';
import { Versions } from './editor/Versions';
import { Results } from './results/Results';
import { Webhooks } from './webhooks/Webhooks';

/** The parts of a form's pages, by the second segment of the path. */
export const formPages = { '': Editor, results: Results, webhooks: Webhooks, versions: Versions } as const;

export { PublishFlow as Publishing };
