import { TRANSFER_STATUSES, TRANSFER_TYPES } from '../../../sdk/client.ts';
import { AmountField } from '../../components/amount-field.tsx';
import { Button } from '../../components/button.tsx';
import { SelectField, TextField } from '../../components/field.tsx';
import { Filters, PeriodFilter } from '../../components/filters.tsx';
import { useDebouncedText } from '../../data/use-url-state.ts';
import { formatDigits, parseAmount } from '../../format/amounts.ts';
import { exactAmountOf, filtersSet, periodOf, problemsOf, type TransferFilters } from './transfer-filters.ts';

/** The pause in typing before the list is read again. */
const PAUSE_MILLISECONDS = 400;

type Change = (changes: Partial<TransferFilters>, options?: { readonly replace?: boolean }) => void;

/** The filters of a list of transfers. Rarely used ones are collapsed, unless they are set. */
export function TransferFilterForm({
  filters,
  onChange,
  onClear,
  currency,
}: {
  readonly filters: TransferFilters;
  readonly onChange: Change;
  readonly onClear: () => void;
  /** The currency for typed amounts. */
  readonly currency: string;
}) {
  const set = filtersSet(filters);
  const problems = problemsOf(filters);
  const exact = exactAmountOf(filters);
  const isFolded = (name: string): boolean =>
    /^(reference|idempotency_key|metadata)/.test(name) || (exact === '' && /_amount$/.test(name));
  const more = set.filter(isFolded).length;
  const text = (name: keyof TransferFilters, label: string) => (
    <TypedField
      label={label}
      value={filters[name]}
      problem={problems[name]}
      onType={(value) => onChange({ [name]: value }, { replace: true })}
    />
  );
  const choice = (name: 'status' | 'type', label: string, names: readonly string[]) => (
    <SelectField
      label={label}
      value={filters[name]}
      options={[['', 'Any'], ...names]}
      onChange={(value) => onChange({ [name]: value })}
    />
  );
  const amount = (name: 'minimum_amount' | 'maximum_amount', label: string) => (
    <TypedAmount
      label={label}
      value={filters[name]}
      currency={currency}
      onType={(value) => onChange({ [name]: value }, { replace: true })}
    />
  );
  return (
    <div class="transfer-filters">
      <Filters>
        {text('card_id', 'Card')}
        {choice('status', 'Status', TRANSFER_STATUSES)}
        {choice('type', 'Type', TRANSFER_TYPES)}
        <TypedAmount
          label="Amount"
          value={exact}
          currency={currency}
          onType={(value) => onChange({ minimum_amount: value, maximum_amount: value }, { replace: true })}
        />
        <PeriodFilter
          label="Created"
          value={periodOf(filters)}
          onChange={({ period, from, to }, options) =>
            onChange({ period, created_from: from, created_to: to }, options)
          }
        />
      </Filters>
      <div class="more-filters">
        <details open={more > 0}>
          <summary>More filters{more > 0 ? ` (${more} set)` : ''}</summary>
          <Filters>
            {text('reference', 'Reference')}
            {text('idempotency_key', 'Idempotency key')}
            {amount('minimum_amount', 'Amount from')}
            {amount('maximum_amount', 'Amount to')}
            {text('metadata_name', 'Metadata name')}
            {text('metadata_value', 'Metadata value')}
          </Filters>
        </details>
        {set.length > 0 && (
          <Button kind="quiet" onClick={onClear}>
            Clear filters
          </Button>
        )}
      </div>
    </div>
  );
}

function TypedField({
  label,
  value,
  problem,
  onType,
}: {
  readonly label: string;
  readonly value: string;
  readonly problem?: string | undefined;
  readonly onType: (value: string) => void;
}) {
  const [typed, setTyped] = useDebouncedText(value, onType, { pauseMilliseconds: PAUSE_MILLISECONDS });
  return <TextField label={label} value={typed} problem={problem} onInput={setTyped} />;
}

/** A field for an amount that users type in major units and the URL keeps in minor units. */
function TypedAmount({
  label,
  value,
  currency,
  onType,
}: {
  readonly label: string;
  readonly value: string;
  readonly currency: string;
  readonly onType: (value: string) => void;
}) {
  const shown = /^\d+$/.test(value) ? formatDigits(value, currency) : value;
  const minorUnitsOf = (typed: string): string | undefined =>
    typed.trim() === '' ? '' : parseAmount(typed, currency)?.toString();
  const [typed, setTyped] = useDebouncedText(
    shown,
    (text) => {
      const read = minorUnitsOf(text);
      if (read !== undefined) onType(read);
    },
    {
      pauseMilliseconds: PAUSE_MILLISECONDS,
      // `12` and `12.00` are the same amount, so the typed text stays.
      isSame: (left, right) => left === right || minorUnitsOf(left) === (minorUnitsOf(right) ?? right),
    },
  );
  return <AmountField label={label} currency={currency} value={typed} onInput={setTyped} />;
}
