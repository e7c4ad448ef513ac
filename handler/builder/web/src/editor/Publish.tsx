import { useSignal } from '@preact/signals';
import { useId } from 'preact/hooks';
import { api, ApiError, type Detail, door } from '../app/api';
import { setClosed } from '../app/closing';
import type { Block, Form, Json, Status } from '../app/records';
import { placeOf, t } from '../app/words';
import { Button } from '../ui/Button';
import { Confirm, Dialog } from '../ui/Dialog';
import { Icon } from '../ui/Icon';
import { Menu } from '../ui/Menu';
import { Failed, Loading, explain, say, useLoaded } from '../ui/states';
import { type Comparison, Differences, Side, type Text, isSame, memberName, segments } from './differences';
import { typeName } from './kinds';
import { nameOf } from './places';
import { ShareDialog } from './Share';
import { explained } from './warnings';

interface Changes extends Comparison {
  copy: boolean;
  revision: number;
  status: Status;
  warnings: Detail[];
}

interface Conflict {
  path: string;
  copy: Json;
  form: Json;
}

interface Steps {
  form: string;
  /** Saves what is not saved; false: that did not work, and nothing is published. */
  beforePublish?(): Promise<boolean>;
  /** The form is another one now: published, discarded, taken back, closed or opened. */
  onPublished(): void;
}

interface Props extends Steps {
  status: Status;
  isClosed: boolean;
  /** Is there anything to publish? undefined: that is not known yet. */
  unpublished: boolean | undefined;
}

/** The button that publishes a form, and a menu of what else becomes of a published one. */
export function PublishButton({ form, status, isClosed, unpublished, beforePublish, onPublished }: Props) {
  const asking = useSignal<'' | 'publish' | 'draft'>('');
  const close = () => (asking.value = '');
  const done = (word: string) => {
    say(t(word));
    onPublished();
  };
  return (
    <>
      <Button
        kind="primary"
        icon="send"
        disabled={status === 'published' && unpublished === false}
        title={status === 'published' && unpublished === false ? t('editor.publish_none') : undefined}
        onClick={() => (asking.value = 'publish')}
      >
        {t('editor.publish')}
      </Button>
      {status === 'published' && (
        <Menu
          icon="chevron-down"
          kind="quiet"
          label={t('editor.publish_options')}
          items={[
            {
              label: t(isClosed ? 'editor.publish_reopen' : 'editor.publish_close'),
              icon: isClosed ? 'play' : 'lock',
              run: () => void setClosed(form, !isClosed).then((closed) => done(closed ? (isClosed ? 'editor.publish_still_closed' : 'editor.publish_closed') : 'editor.publish_reopened'), (e: unknown) => say(explain(e))),
            },
            { label: t('editor.unpublish'), icon: 'eye-off', apart: true, run: () => (asking.value = 'draft') },
          ]}
        />
      )}
      {asking.value === 'publish' && <Publishing form={form} beforePublish={beforePublish} onPublished={onPublished} onClose={close} />}
      {asking.value === 'draft' && (
        <Confirm
          title={t('editor.unpublish')}
          text={t('editor.unpublish_text')}
          action={t('editor.unpublish')}
          danger
          run={async () => {
            await api('/forms/' + form, { method: 'PATCH', body: { status: 'draft' } });
            done('editor.unpublished');
          }}
          onClose={close}
        />
      )}
    </>
  );
}

/** Publishes a form in a dialog, and then offers its link. */
export function Publishing({ onPublished, onClose, ...steps }: Steps & { onClose(): void }) {
  const published = useSignal<Form | undefined>(undefined);
  if (published.value) return <ShareDialog form={steps.form} status="published" isClosed={published.value.is_closed} justPublished onClose={onClose} />;
  return (
    <PublishDialog
      {...steps}
      onPublished={(form) => {
        published.value = form;
        onPublished();
      }}
      onDiscarded={() => {
        say(t('editor.publish_discarded'));
        onPublished();
      }}
      onClose={onClose}
    />
  );
}

/** Shows what would be published, asks about conflicts, and publishes. */
function PublishDialog({ form, beforePublish, onPublished, onDiscarded, onClose }: Omit<Steps, 'onPublished'> & { onPublished(form: Form): void; onDiscarded(): void; onClose(): void }) {
  const changes = useLoaded(async () => {
    if (beforePublish && !(await beforePublish())) return undefined;
    return door<Changes>(`/forms/${form}/changes`);
  }, [form]);
  const conflicts = useSignal<{ list: Conflict[]; revision: number } | undefined>(undefined);
  const take = useSignal<Record<string, 'copy' | 'form'>>({});
  const busy = useSignal(false);
  const moved = useSignal(false);
  const fault = useSignal<unknown>(undefined);
  const discarding = useSignal(false);
  const is = changes.value;
  const clash = conflicts.value;
  const nothing = is !== undefined && is.status === 'published' && !is.copy;
  const open = clash?.list.filter((c) => !take.value[c.path]).length ?? 0;
  const again = () => {
    conflicts.value = undefined;
    changes.reload();
  };

  const publish = async () => {
    busy.value = true;
    fault.value = undefined;
    try {
      onPublished(await door<Form>(`/forms/${form}/publish`, { body: { if_revision: clash?.revision ?? is!.revision, take: take.value } }));
    } catch (e) {
      const list = e instanceof ApiError && e.status === 409 ? (e.body.conflicts as Conflict[] | undefined) : undefined;
      if (list) {
        conflicts.value = { list, revision: Number((e as ApiError).body.revision) };
      } else if (e instanceof ApiError && e.status === 412) {
        moved.value = true;
        again();
      } else fault.value = e;
    } finally {
      busy.value = false;
    }
  };

  if (discarding.value && is) {
    return (
      <Confirm
        title={t('editor.publish_discard')}
        text={t('editor.publish_discard_text')}
        action={t('editor.publish_discard')}
        danger
        run={async () => {
          await door(`/forms/${form}/discard`, { body: { if_revision: is.revision } });
          onDiscarded();
        }}
        onClose={onClose}
      />
    );
  }
  return (
    <Dialog
      wide
      title={t('editor.publish_title')}
      onClose={onClose}
      foot={
        <>
          {is?.copy && <Button kind="danger" class="first" onClick={() => (discarding.value = true)}>{t('editor.publish_discard')}</Button>}
          <Button onClick={onClose}>{t('app.cancel')}</Button>
          <Button kind="primary" icon="send" busy={busy.value} disabled={!is || nothing || open > 0} onClick={publish}>{t('editor.publish')}</Button>
        </>
      }
    >
      <div class="publish" aria-live="polite">
        {changes.loading && !is && <Loading />}
        {changes.error !== undefined && <Failed error={changes.error} again={again} />}
        {!changes.loading && changes.error === undefined && !is && <p class="notice bad" role="alert"><Icon name="circle-alert" /> {t('editor.publish_unsaved')}</p>}
        {moved.value && <p class="notice"><Icon name="circle-alert" /> {t('editor.publish_outdated')}</p>}
        {fault.value !== undefined && <Refused error={fault.value} />}
        {is && !clash && (
          <>
            {nothing && <p class="notice good"><Icon name="circle-check" /> {t('editor.publish_none')}</p>}
            {!nothing && is.status === 'draft' && <p>{t(is.after.blocks?.length ? 'editor.publish_first' : 'editor.publish_empty', { n: is.after.blocks?.length ?? 0 })}</p>}
            {!nothing && is.status === 'published' && <p>{t(isSame(is) ? 'editor.publish_unchanged' : 'editor.publish_changes')}</p>}
            {!isSame(is) && <Differences of={is} />}
            {is.warnings.length > 0 && <Warnings list={explained(is.warnings, is.after.blocks ?? [], is.before.blocks ?? [])} blocks={is.after.blocks ?? []} />}
          </>
        )}
        {clash && is && (
          <>
            <p class="notice"><Icon name="triangle-alert" /> {t('editor.publish_conflicts', { n: clash.list.length })}</p>
            {clash.list.map((c) => (
              <Choice key={c.path} of={c} texts={{ copy: is.after, form: is.before }} chosen={take.value[c.path]} choose={(side) => (take.value = { ...take.value, [c.path]: side })} />
            ))}
            {open > 0 && <p class="muted">{t('editor.publish_choose', { n: open })}</p>}
          </>
        )}
      </div>
    </Dialog>
  );
}

/** What the rules of a form refuse, each with its place. */
export function Refused({ error }: { error: unknown }) {
  const details = error instanceof ApiError ? error.details.slice(0, 20) : [];
  if (details.length === 0) return <Failed error={error} />;
  return (
    <div class="notice bad" role="alert">
      <Icon name="circle-alert" />
      <ul>{details.map((d) => <li key={d.path + d.code}><b>{placeOf(d.path)}</b> {d.message}</li>)}</ul>
    </div>
  );
}

function Warnings({ list, blocks }: { list: Changes['warnings']; blocks: Block[] }) {
  return (
    <section class="stack">
      <h3>{t('editor.publish_warnings', { n: list.length })}</h3>
      <ul class="differences">
        {list.map((w) => {
          const [section, index = '', ...rest] = segments(w.path);
          const block = section === 'blocks' ? blocks[Number(index)] : undefined;
          return (
            <li key={w.path + w.code}>
              <div class="row">
                <span class="badge warn"><Icon name="triangle-alert" /></span>
                <strong dir="auto">{block ? nameOf(block, typeName) : memberName([section ?? '', index, ...rest])}</strong>
              </div>
              <p>{block && rest.length > 0 ? `${memberName(rest[1] === 'rule' ? rest.slice(0, 2) : rest)}: ${w.message}` : w.message}</p>
            </li>
          );
        })}
      </ul>
    </section>
  );
}

/** A part that was changed twice, with a choice of whose value counts. */
function Choice({ of, texts, chosen, choose }: { of: Conflict; texts: Record<'copy' | 'form', Text>; chosen: 'copy' | 'form' | undefined; choose(side: 'copy' | 'form'): void }) {
  const name = useId();
  const path = segments(of.path);
  const block = path[1] === 'blocks' ? [texts.copy, texts.form].flatMap((text) => text.blocks ?? []).find((b) => b.id === path[2]) : undefined;
  return (
    <fieldset class="clash">
      <legend dir="auto">{block ? nameOf(block, typeName) : memberName(path[0] === 'definition' ? path.slice(1) : path)}</legend>
      {(['copy', 'form'] as const).map((side) => (
        <label key={side} class="clash-side">
          <input type="radio" name={name} checked={chosen === side} onChange={() => choose(side)} />
          <span>
            <strong>{t('editor.publish_side_' + side)}</strong>
            <Side value={of[side]} other={of[side === 'copy' ? 'form' : 'copy']} path={path} text={texts[side]} />
          </span>
        </label>
      ))}
    </fieldset>
  );
}
