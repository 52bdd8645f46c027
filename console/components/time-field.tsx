import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { useAhead } from '../data/clock.ts';
import {
  boundsOf,
  formatMoment,
  PERIODS,
  type PresetName,
  presetsOf,
  toFieldValue,
  toIso,
  zoneText,
} from '../format/times.ts';
import { Button } from './button.tsx';
import { Field, type FieldParts } from './field.tsx';

/**
 * A date and time in the user's time zone, in the browser's own picker, which has the user's language. The field says which time
 * zone that is, and shows the chosen time in UTC. The value is in the format of the API, or empty.
 */
export function TimeField({
  value,
  onChange,
  presets,
  isActual = false,
  required = false,
  hint,
  ...field
}: FieldParts & {
  /** ISO 8601 in UTC. */
  readonly value: string;
  readonly onChange: (value: string) => void;
  /** The times that a click chooses: in the past, soon or far in the future. */
  readonly presets?: PresetName;
  /** Whether the time does not follow the sandbox clock. */
  readonly isActual?: boolean;
  readonly required?: boolean;
}) {
  const [isHalf, setHalf] = useState(false);
  const now = useClock(isActual);
  const about = (
    <>
      {hint} {value === '' ? `Time zone: ${zoneText(now())}.` : `${zoneText(Date.parse(value))}; ${utcText(value)}.`}
    </>
  );
  return (
    <Field {...field} hint={about} problem={isHalf ? 'Enter a date and a time.' : field.problem}>
      {(control) => (
        <>
          <input
            {...control}
            type="datetime-local"
            // Otherwise the browser refuses times with seconds.
            step="any"
            value={toFieldValue(value)}
            required={required}
            onInput={(event) => {
              setHalf(false);
              onChange(toIso(event.currentTarget.value) ?? '');
            }}
            // The value of half a time is empty, and must not be mistaken for no time.
            onBlur={(event) => setHalf(event.currentTarget.validity.badInput)}
          />
          {presets !== undefined && (
            <Presets>
              {presetsOf(presets).map(({ text, at }) => (
                <Button key={text} onClick={() => onChange(at(now()))}>
                  {text}
                </Button>
              ))}
            </Presets>
          )}
        </>
      )}
    </Field>
  );
}

/** Buttons that choose a period. */
export function PeriodPresets({
  onChoose,
}: {
  readonly onChoose: (period: { readonly from: string; readonly to: string }) => void;
}) {
  const now = useClock(false);
  const choose = (period: string) => {
    const at = now();
    const { from = '', to = new Date(at).toISOString() } = boundsOf({ period, from: '', to: '' }, at);
    onChoose({ from, to });
  };
  return (
    <Presets>
      {Object.entries(PERIODS).map(([period, text]) => (
        <Button key={period} onClick={() => choose(period)}>
          {text}
        </Button>
      ))}
    </Presets>
  );
}

function Presets({ children }: { readonly children: ComponentChildren }) {
  return (
    <fieldset class="presets" aria-label="Suggestions">
      {children}
    </fieldset>
  );
}

/** Returns a function that tells the time, in milliseconds since 1970. */
function useClock(isActual: boolean): () => number {
  const ahead = useAhead();
  return () => Date.now() + (isActual ? 0 : ahead);
}

function utcText(iso: string): string {
  return Number.isNaN(Date.parse(iso)) ? iso : `${formatMoment(iso, 'UTC')} UTC`;
}
