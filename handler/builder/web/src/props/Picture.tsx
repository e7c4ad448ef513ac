import { useState } from 'preact/hooks';
import { number, t } from '../app/words';
import { Button } from '../ui/Button';
import { Icon } from '../ui/Icon';
import { Draft, plain } from './Draft';
import { isObject, patched, type Obj } from '../app/json';
import { patchFor } from './model';
import { completeURL, readNumber, readURL, showNumber } from './values';

interface Props {
  at: string;
  label: string;
  /** The label is for screen readers alone. */
  bare?: boolean;
  /** An object with the members of an image, or its address. */
  value: unknown;
  fault: string | undefined;
  /** How many characters a picture in the form itself may take. */
  most: number;
  set(image: Obj | undefined): void;
}

/** An image by its address, or a small one inside of the form. */
export function Picture({ at, label, bare, value, fault, most, set }: Props) {
  const [problem, setProblem] = useState('');
  const image: Obj = isObject(value) ? value : typeof value === 'string' ? { url: value } : {};
  const put = (changes: Obj): void => {
    const made = patched(image, patchFor(changes)) as Obj;
    set(Object.keys(made).length > 0 ? made : undefined);
  };
  const text = (member: string) => (typeof image[member] === 'string' ? (image[member] as string) || undefined : undefined);
  const inside = text('base64');
  const take = async (files: FileList | null): Promise<void> => {
    const file = files?.[0];
    if (!file) return;
    setProblem('');
    try {
      const made = await shrink(file, most);
      put({ base64: made.url, url: undefined, width: made.width, height: made.height });
    } catch {
      setProblem(t('props.error_image'));
    }
  };
  const size = (member: 'width' | 'height') => (
    <Draft
      at={`${at}.${member}`} label={t('props.picture_' + member)} decimal value={typeof image[member] === 'number' ? image[member] : undefined} show={showNumber}
      read={(s) => readNumber(s, { integer: true, min: 1 })} set={(n) => put({ [member]: n })}
    />
  );
  return (
    <fieldset class="props-set">
      <legend class={bare ? 'unseen' : undefined}>{label}</legend>
      {inside ? (
        <div class="props-inside">
          {inside.startsWith('data:image/') && <img src={inside} alt="" />}
          <span>{t('props.picture_stored', { size: number(Math.ceil((inside.length * 0.75) / 1000)) })}</span>
          <Button onClick={() => put({ base64: undefined, width: undefined, height: undefined })}>{t('props.remove')}</Button>
        </div>
      ) : (
        <>
          <Draft at={at + '.url'} name="url" label={t('props.picture_url')} value={text('url')} show={plain.show} read={(s) => readURL(s)} set={(v) => put({ url: v })} tidy={completeURL} placeholder="https://" fault={fault || problem || undefined} />
          <label class="button small props-file">
            <Icon name="upload" /> {t('props.picture_file')}
            <input type="file" class="unseen" accept="image/png,image/jpeg,image/webp,image/gif" onChange={(e) => (void take(e.currentTarget.files), (e.currentTarget.value = ''))} />
          </label>
        </>
      )}
      {inside && (fault || problem) && <p class="fault">{fault || problem}</p>}
      {(text('url') || inside || image.id || image.width || image.height) && (
        <details class="props-inner">
          <summary>{t('props.picture_more')}</summary>
          <div class="props-two">{size('width')}{size('height')}</div>
          <Draft at={at + '.id'} label={t('props.picture_id')} value={text('id')} {...plain} set={(v) => put({ id: v })} hint={t('props.picture_id_hint')} />
        </details>
      )}
    </fieldset>
  );
}

/** A picture as a data URL of at most so many characters: as it is, or smaller. */
async function shrink(file: File, most: number): Promise<{ url: string; width: number; height: number }> {
  const picture = await createImageBitmap(file);
  if (file.size < most * 0.74) {
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
      if (url.length <= most && url.startsWith('data:' + kind)) return { url, width: canvas.width, height: canvas.height };
    }
  }
  throw new Error('too large');
}
