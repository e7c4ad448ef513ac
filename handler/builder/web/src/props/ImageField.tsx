import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { formatNumber, t } from '../app/words';
import { Button } from '../ui/Button';
import { Icon } from '../ui/Icon';
import { DraftField, plainText } from './DraftField';
import { isObject, applyMergePatch, type Obj } from '../app/json';
import { patchFromPaths } from './model';
import { completeURL, parseNumber, parseURL, formatNumberInput } from './values';

interface Props {
  at: string;
  label: string;
  /** Whether the label is only for screen readers. */
  hideLabel?: boolean;
  hint?: ComponentChildren;
  /** An image object, or a URL. */
  value: unknown;
  error: string | undefined;
  /** The maximum length, in characters, of an image that is stored in the form. */
  maxLength: number;
  set(image: Obj | undefined): void;
}

/** Edits an image: a URL, or a small image stored in the form. */
export function ImageField({ at, label, hideLabel, hint, value, error, maxLength, set }: Props) {
  const [fileError, setFileError] = useState('');
  const image: Obj = isObject(value) ? value : typeof value === 'string' ? { url: value } : {};
  const update = (changes: Obj): void => {
    const merged = applyMergePatch(image, patchFromPaths(changes)) as Obj;
    set(Object.keys(merged).length > 0 ? merged : undefined);
  };
  const text = (member: string) => (typeof image[member] === 'string' ? (image[member] as string) || undefined : undefined);
  const dataURL = text('base64');
  const chooseFile = async (files: FileList | null): Promise<void> => {
    const file = files?.[0];
    if (!file) return;
    setFileError('');
    try {
      const scaled = await toDataURL(file, maxLength);
      update({ base64: scaled.url, url: undefined, width: scaled.width, height: scaled.height });
    } catch {
      setFileError(t('props.error_image'));
    }
  };
  const sizeField = (member: 'width' | 'height') => (
    <DraftField
      at={`${at}.${member}`} label={t('props.image_' + member)} decimal value={typeof image[member] === 'number' ? image[member] : undefined} format={formatNumberInput}
      parse={(s) => parseNumber(s, { integer: true, min: 1 })} set={(n) => update({ [member]: n })}
    />
  );
  return (
    <fieldset class="props-set">
      <legend class={hideLabel ? 'unseen' : undefined}>{label}</legend>
      {dataURL ? (
        <div class="props-inside">
          {dataURL.startsWith('data:image/') && <img src={dataURL} alt="" />}
          <span>{t('props.image_stored', { size: formatNumber(Math.ceil((dataURL.length * 0.75) / 1000)) })}</span>
          <Button onClick={() => update({ base64: undefined, width: undefined, height: undefined })}>{t('props.remove')}</Button>
        </div>
      ) : (
        <>
          <DraftField at={at + '.url'} name="url" label={t('props.image_url')} value={text('url')} format={plainText.format} parse={(s) => parseURL(s)} set={(v) => update({ url: v })} complete={completeURL} placeholder="https://" hint={hint} error={error || fileError || undefined} />
          <label class="button small props-file">
            <Icon name="upload" /> {t('props.image_file')}
            <input type="file" class="unseen" accept="image/png,image/jpeg,image/webp,image/gif" onChange={(e) => (void chooseFile(e.currentTarget.files), (e.currentTarget.value = ''))} />
          </label>
        </>
      )}
      {dataURL && (error || fileError) && <p class="fault">{error || fileError}</p>}
      {(text('url') || dataURL || image.id || image.width || image.height) && (
        <details class="props-inner">
          <summary>{t('props.image_details')}</summary>
          <div class="props-two">{sizeField('width')}{sizeField('height')}</div>
          <DraftField at={at + '.id'} label={t('props.image_id')} value={text('id')} {...plainText} set={(v) => update({ id: v })} hint={t('props.image_id_hint')} />
        </details>
      )}
    </fieldset>
  );
}

/** Returns an image as a data URL. It is scaled down until it fits. */
async function toDataURL(file: File, maxLength: number): Promise<{ url: string; width: number; height: number }> {
  const picture = await createImageBitmap(file);
  if (file.size < maxLength * 0.74) {
    const url = await new Promise<string>((done, failed) => {
      const reader = new FileReader();
      reader.onload = () => done(String(reader.result));
      reader.onerror = () => failed(reader.error);
      reader.readAsDataURL(file);
    });
    return { url, width: picture.width, height: picture.height };
  }
  for (const side of [1600, 1200, 800, 500, 300]) {
    const share = Math.min(1, side / Math.max(picture.width, picture.height));
    const canvas = document.createElement('canvas');
    canvas.width = Math.max(1, Math.round(picture.width * share));
    canvas.height = Math.max(1, Math.round(picture.height * share));
    canvas.getContext('2d')!.drawImage(picture, 0, 0, canvas.width, canvas.height);
    for (const kind of ['image/webp', 'image/jpeg']) {
      const url = canvas.toDataURL(kind, 0.85);
      if (url.length <= maxLength && url.startsWith('data:' + kind)) return { url, width: canvas.width, height: canvas.height };
    }
  }
  throw new Error('too large');
}
