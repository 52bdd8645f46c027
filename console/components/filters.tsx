import type { ComponentChildren } from 'preact';
import { useOperation } from '../data/use-operation.ts';
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

export type Option = readonly [value: string, text: string];

/** Returns the options, including the value in the URL if it is not among them. */
export function withChosen(options: readonly Option[], chosen: string): readonly Option[] {
  return options.some(([value]) => value === chosen) ? options : [...options, [chosen, chosen]];
}

/** The maximum number of programs that the filter lists. The URL can contain others. */
const MAX_PROGRAMS = 100;

/** A filter by card program. */
export function ProgramFilter({
  value,
  onChange,
}: {
  readonly value: string;
  readonly onChange: (value: string) => void;
}) {
  const { data } = useOperation((api, options) => api.programs.list({ limit: MAX_PROGRAMS }, options));
  const programs = (data?.data ?? []).map(({ program_id, name }): Option => [program_id, name]);
  return (
    <SelectField
      label="Card program"
      value={value}
      onChange={onChange}
      options={withChosen([['', 'Any'], ...programs], value)}
    />
  );
}
