import type { ComponentChildren } from 'preact';
import { t } from '../app/words';
import { pointerOf } from './scope';
import type { Obj } from '../app/json';
import { valueAt } from './model';
import { parts } from './props.gen';

/** The parts of an address or contact, in the same order as on the form page. */
const order = ['firstName', 'lastName', 'email', 'phone', 'company', 'address', 'address2', 'zip', 'city', 'state', 'country'];
const names = [...order, ...Object.keys(parts).filter((p) => !order.includes(p))];

export function AddressParts({ path, label, hint, error, value, set }: { path: string; label: string; hint: ComponentChildren; error: string | undefined; value: Obj; set(changes: Obj): void }) {
  return (
    <fieldset class="props-set">
      <legend>{label}</legend>
      <table class="props-parts">
        <thead>
          <tr>
            <td />
            <th scope="col">{t('props.part_show')}</th>
            <th scope="col">{t('props.part_required')}</th>
          </tr>
        </thead>
        <tbody>
          {names.map((part) => {
            const hidden = valueAt(value, part + '.hide') === true;
            const name = t('props.part_' + part);
            const checkbox = (member: string, key: string, on: boolean, change: (on: boolean) => Obj, disabled = false) => (
              <td data-path={pointerOf(`${path}.${part}.${member}`)}>
                <input type="checkbox" aria-label={`${name}: ${t(key)}`} checked={on} disabled={disabled} onChange={(e) => set(change(e.currentTarget.checked))} />
              </td>
            );
            return (
              <tr key={part}>
                <th scope="row">{name}</th>
                {checkbox('hide', 'props.part_show', !hidden, (on) => ({ [`${path}.${part}.hide`]: on ? undefined : true, ...(on ? {} : { [`${path}.${part}.required`]: undefined }) }))}
                {checkbox('required', 'props.part_required', !hidden && valueAt(value, part + '.required') === true, (on) => ({ [`${path}.${part}.required`]: on || undefined }), hidden)}
              </tr>
            );
          })}
        </tbody>
      </table>
      {hint && <p class="hint">{hint}</p>}
      {error && <p class="fault">{error}</p>}
    </fieldset>
  );
}
