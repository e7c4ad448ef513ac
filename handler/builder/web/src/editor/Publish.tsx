import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useId } from 'preact/hooks';
import { api, ApiError, type Detail, builderApi } from '../app/api';
import { setClosed } from '../app/closeForm';
import { allBlocks, type Block, type Form, type Json, type Status } from '../app/records';
import { describePointer, t } from '../app/words';
import { Button } from '../ui/Button';
import { ConfirmDialog, Dialog } from '../ui/Dialog';
import { Icon } from '../ui/Icon';
import { Menu } from '../ui/Menu';
import { ErrorNotice, Loading, errorText, showToast, useLoaded } from '../ui/states';
import { type Comparison, Differences, ConflictSide, type FormText, isSame, fieldName, segments } from './differences';
import { typeName } from './blockTypes';
import { blockLabel, isQuestion } from './positions';
import { ShareDialog } from './Share';
import { explainWarnings } from './warnings';

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

interface PublishSteps {
  form: string;
  /** Saves all edits. If it returns false, nothing is published. */
  beforePublish?(): Promise<boolean>;
  /** Why edits could not be saved. */
  problems?: ComponentChildren;
  /** Called after the form was published, discarded, unpublished, closed or reopened. */
  onPublished(): void;
}

interface Props extends PublishSteps {
  status: Status;
  isClosed: boolean;
  /** Whether there are unpublished changes. It is undefined until this is known. */
  unpublished: boolean | undefined;
}

/** The button that publishes a form, and a menu with actions for a published form. */
export function PublishButton({ form, status, isClosed, unpublished, onPublished, ...steps }: Props) {
  const openDialog = useSignal<'' | 'publish' | 'draft'>('');
  const close = () => (openDialog.value = '');
  const finish = (word: string) => {
    showToast(t(word));
    onPublished();
  };
  return (
    <>
      <Button
        kind="primary"
        icon="send"
        disabled={status === 'published' && unpublished === false}
        title={status === 'published' && unpublished === false ? t('editor.publish_no_changes') : undefined}
        onClick={() => (openDialog.value = 'publish')}
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
              run: () => void setClosed(form, !isClosed).then((closed) => finish(closed ? (isClosed ? 'editor.publish_still_closed' : 'editor.publish_closed') : 'editor.publish_reopened'), (e: unknown) => showToast(errorText(e))),
            },
            { label: t('editor.unpublish'), icon: 'eye-off', separated: true, run: () => (openDialog.value = 'draft') },
          ]}
        />
      )}
      {openDialog.value === 'publish' && <PublishFlow {...steps} form={form} onPublished={onPublished} onClose={close} />}
      {openDialog.value === 'draft' && (
        <ConfirmDialog
          title={t('editor.unpublish')}
          text={t('editor.unpublish_text')}
          action={t('editor.unpublish')}
          danger
          run={async () => {
            await api('/forms/' + form, { method: 'PATCH', body: { status: 'draft' } });
            finish('editor.unpublished');
          }}
          onClose={close}
        />
      )}
    </>
  );
}

/** Publishes a form in a dialog, and then shows its link. */
export function PublishFlow({ onPublished, onClose, ...steps }: PublishSteps & { onClose(): void }) {
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
        showToast(t('editor.publish_discarded'));
        onPublished();
      }}
      onClose={onClose}
    />
  );
}

/** Shows the changes, asks how to resolve conflicts, and publishes. */
function PublishDialog({ form, beforePublish, problems, onPublished, onDiscarded, onClose }: Omit<PublishSteps, 'onPublished'> & { onPublished(form: Form): void; onDiscarded(): void; onClose(): void }) {
  const changes = useLoaded(async () => {
    if (beforePublish && !(await beforePublish())) return undefined;
    return builderApi<Changes>(`/forms/${form}/changes`);
  }, [form]);
  const conflicts = useSignal<{ list: Conflict[]; revision: number } | undefined>(undefined);
  const resolutions = useSignal<Record<string, 'copy' | 'form'>>({});
  const busy = useSignal(false);
  const isOutdated = useSignal(false);
  const failure = useSignal<unknown>(undefined);
  const discarding = useSignal(false);
  const current = changes.value;
  const conflict = conflicts.value;
  const questions = allBlocks(current?.after.blocks ?? []).filter((b) => isQuestion(b.type)).length;
  const isUnchanged = current !== undefined && current.status === 'published' && !current.copy;
  const unresolved = conflict?.list.filter((c) => !resolutions.value[c.path]).length ?? 0;
  const reload = () => {
    conflicts.value = undefined;
    changes.reload();
  };

  const publish = async () => {
    busy.value = true;
    failure.value = undefined;
    try {
      onPublished(await builderApi<Form>(`/forms/${form}/publish`, { body: { if_revision: conflict?.revision ?? current!.revision, take: resolutions.value } }));
    } catch (e) {
      const list = e instanceof ApiError && e.status === 409 ? (e.body.conflicts as Conflict[] | undefined) : undefined;
      if (list) {
        conflicts.value = { list, revision: Number((e as ApiError).body.revision) };
      } else if (e instanceof ApiError && e.status === 412) {
        isOutdated.value = true;
        reload();
      } else failure.value = e;
    } finally {
      busy.value = false;
    }
  };

  if (discarding.value && current) {
    return (
      <ConfirmDialog
        title={t('editor.publish_discard')}
        text={t('editor.publish_discard_text')}
        action={t('editor.publish_discard')}
        danger
        run={async () => {
          await builderApi(`/forms/${form}/discard`, { body: { if_revision: current.revision } });
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
      footer={
        <>
          {current?.copy && <Button kind="danger" class="first" onClick={() => (discarding.value = true)}>{t('editor.publish_discard')}</Button>}
          <Button onClick={onClose}>{t('app.cancel')}</Button>
          <Button kind="primary" icon="send" busy={busy.value} disabled={!current || isUnchanged || unresolved > 0} onClick={publish}>{t('editor.publish')}</Button>
        </>
      }
    >
      <div class="publish" aria-live="polite">
        {changes.loading && !current && <Loading />}
        {changes.error !== undefined && <ErrorNotice error={changes.error} retry={reload} />}
        {!changes.loading && changes.error === undefined && !current && <div class="notice bad" role="alert"><Icon name="circle-alert" /> <div>{t('editor.publish_unsaved')}{problems}</div></div>}
        {isOutdated.value && <p class="notice"><Icon name="circle-alert" /> {t('editor.publish_outdated')}</p>}
        {failure.value !== undefined && <ValidationErrors error={failure.value} />}
        {current && !conflict && (
          <>
            {isUnchanged && <p class="notice good"><Icon name="circle-check" /> {t('editor.publish_no_changes')}</p>}
            {!isUnchanged && current.status === 'draft' && <p>{t(questions > 0 ? 'editor.publish_first' : 'editor.publish_empty', { n: questions })}</p>}
            {!isUnchanged && current.status === 'published' && <p>{t(isSame(current) ? 'editor.publish_unchanged' : 'editor.publish_changes')}</p>}
            {!isSame(current) && <Differences of={current} />}
            {current.warnings.length > 0 && <WarningList list={explainWarnings(current.warnings, current.after.blocks ?? [], current.before.blocks ?? [])} blocks={current.after.blocks ?? []} />}
          </>
        )}
        {conflict && current && (
          <>
            <p class="notice"><Icon name="triangle-alert" /> {t('editor.publish_conflicts', { n: conflict.list.length })}</p>
            {conflict.list.map((c) => (
              <ConflictChoice key={c.path} conflict={c} texts={{ copy: current.after, form: current.before }} chosen={resolutions.value[c.path]} onChoose={(side) => (resolutions.value = { ...resolutions.value, [c.path]: side })} />
            ))}
            {unresolved > 0 && <p class="muted">{t('editor.publish_unresolved', { n: unresolved })}</p>}
          </>
        )}
      </div>
    </Dialog>
  );
}

/** Lists the violations that the service reported. */
export function ValidationErrors({ error }: { error: unknown }) {
  const details = error instanceof ApiError ? error.details.slice(0, 20) : [];
  if (details.length === 0) return <ErrorNotice error={error} />;
  return (
    <div class="notice bad" role="alert">
      <Icon name="circle-alert" />
      <ul>{details.map((d) => <li key={d.path + d.code}><b>{describePointer(d.path)}</b> {d.message}</li>)}</ul>
    </div>
  );
}

function WarningList({ list, blocks }: { list: Changes['warnings']; blocks: Block[] }) {
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
                <strong dir="auto">{block ? blockLabel(block, typeName) : fieldName([section ?? '', index, ...rest])}</strong>
              </div>
              <p>{block && rest.length > 0 ? `${fieldName(rest[1] === 'rule' ? rest.slice(0, 2) : rest)}: ${w.message}` : w.message}</p>
            </li>
          );
        })}
      </ul>
    </section>
  );
}

/** Lets the user choose one side of a conflict. */
function ConflictChoice({ conflict, texts, chosen, onChoose }: { conflict: Conflict; texts: Record<'copy' | 'form', FormText>; chosen: 'copy' | 'form' | undefined; onChoose(side: 'copy' | 'form'): void }) {
  const name = useId();
  const path = segments(conflict.path);
  const block = path[1] === 'blocks' ? [texts.copy, texts.form].flatMap((text) => text.blocks ?? []).find((b) => b.id === path[2]) : undefined;
  return (
    <fieldset class="clash">
      <legend dir="auto">{block ? blockLabel(block, typeName) : fieldName(path[0] === 'definition' ? path.slice(1) : path)}</legend>
      {(['copy', 'form'] as const).map((side) => (
        <label key={side} class="clash-side">
          <input type="radio" name={name} checked={chosen === side} onChange={() => onChoose(side)} />
          <span>
            <strong>{t('editor.publish_side_' + side)}</strong>
            <ConflictSide value={conflict[side]} other={conflict[side === 'copy' ? 'form' : 'copy']} path={path} text={texts[side]} />
          </span>
        </label>
      ))}
    </fieldset>
  );
}
