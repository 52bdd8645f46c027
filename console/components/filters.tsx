import type { ComponentChildren } from 'preact';
import { PERIODS, type Period } from '../format/times.ts';
import { Button } from './button.tsx';
import { SelectField } from './field.tsx';
import { TimeField } from './time-field.tsx';

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
  isActual = false,
}: {
  /** The event that the times are about: "Created". */
  readonly label: string;
  readonly value: Period;
  readonly onChange: (changes: Period, options?: { readonly replace?: boolean }) => void;
  /** Whether the times do not follow the sandbox clock. */
  readonly isActual?: boolean;
}) {
  const { period, from, to } = value;
  const isExact = !Object.hasOwn(PERIODS, period) && (period === 'exact' || from !== '' || to !== '');
  const time = (name: 'from' | 'to', text: string) => (
    <TimeField
      label={`${label} ${text}`}
      value={value[name]}
      onChange={(at) => onChange({ ...value, period: 'exact', [name]: at }, { replace: true })}
      isActual={isActual}
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
