import type { ComponentChildren } from 'preact';
import { PERIODS, type Period, toFieldValue, toIso } from '../format/times.ts';
import { Button } from './button.tsx';
import { SelectField, TextField } from './field.tsx';

/** The filters of a list, in a row. Keep their values in the URL with `useUrlState`. */
export function Filters({
  children,
  onClear,
}: {
  readonly children: ComponentChildren;
  /** Clears all filters. Undefined if none is set. */
  readonly onClear?: (() => void) | undefined;
}) {
  return (
    <search class="filters">
      {children}
      {onClear !== undefined && (
        <Button kind="quiet" onClick={onClear}>
          Clear filters
        </Button>
      )}
    </search>
  );
}

/** A filter by time: a preset period, or exact times with two extra fields. */
export function PeriodFilter({
  label,
  value,
  onChange,
}: {
  /** The event that the times are about: "Created". */
  readonly label: string;
  readonly value: Period;
  readonly onChange: (changes: Period, options?: { readonly replace?: boolean }) => void;
}) {
  const { period, from, to } = value;
  const isExact = !Object.hasOwn(PERIODS, period) && (period === 'exact' || from !== '' || to !== '');
  const time = (name: 'from' | 'to', text: string) => (
    <TextField
      label={`${label} ${text}`}
      type="datetime-local"
      value={toFieldValue(value[name])}
      onInput={(typed) => onChange({ ...value, period: 'exact', [name]: toIso(typed) ?? '' }, { replace: true })}
    />
  );
  return (
    <>
      <SelectField
        label={label}
        value={isExact ? 'exact' : Object.hasOwn(PERIODS, period) ? period : ''}
        onChange={(chosen) => onChange({ period: chosen, from: '', to: '' })}
        options={[['', 'Any time'], ...Object.entries(PERIODS), ['exact', 'Exact times']]}
      />
      {isExact && time('from', 'from')}
      {isExact && time('to', 'before')}
    </>
  );
}
