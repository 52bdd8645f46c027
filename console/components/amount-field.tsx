import { formatDigits, parseAmount, problemOfAmount } from '../format/amounts.ts';
import { Field, type FieldParts } from './field.tsx';

/**
 * A field for an amount in a currency, which is shown next to it. The text may have separators, and gets them when the user leaves
 * the field. `parseAmount` reads the text without rounding.
 */
export function AmountField({
  currency,
  value,
  onInput,
  minimum = 1,
  required = false,
  ...field
}: FieldParts & {
  /** Undefined while it is not known. The text is then not checked. */
  readonly currency: string | undefined;
  /** The typed text. */
  readonly value: string;
  readonly onInput: (value: string) => void;
  /** The smallest amount, in minor units. */
  readonly minimum?: 0 | 1;
  readonly required?: boolean;
}) {
  const leave = () => {
    const amount = currency === undefined ? undefined : parseAmount(value, currency, minimum);
    const text = amount === undefined || currency === undefined ? value : formatDigits(amount, currency);
    if (text !== value) onInput(text);
  };
  const wrong = currency === undefined ? undefined : problemOfAmount(value, currency, minimum);
  return (
    <Field {...field} problem={wrong ?? field.problem}>
      {(control) => (
        <span class="amount-input">
          <input
            {...control}
            aria-describedby={`${control.id}-currency ${control['aria-describedby'] ?? ''}`}
            type="text"
            inputMode="decimal"
            autoComplete="off"
            spellcheck={false}
            value={value}
            required={required}
            onInput={(event) => onInput(event.currentTarget.value)}
            onBlur={leave}
          />
          {currency !== undefined && (
            <span class="currency" id={`${control.id}-currency`}>
              {currency}
            </span>
          )}
        </span>
      )}
    </Field>
  );
}
