import { useState } from 'preact/hooks';
import type { CardRecord, UpdateCardBody } from '../../../sdk/client.ts';
import { ConfirmDialog } from '../../components/dialogs/dialog.tsx';
import { LimitsDialog } from '../../components/dialogs/limits-dialog.tsx';
import { AreaField, TextField } from '../../components/field.tsx';
import { useAction, useOpened } from '../../data/use-action.ts';
import { hasCardNumber } from '../../format/card-numbers.ts';
import type { LimitsChange } from '../../format/limits.ts';
import { versionFor } from '../../format/versions.ts';
import { metadataText, readMetadataChange } from './card-words.ts';

export type CardDialogParts = {
  readonly card: CardRecord;
  readonly name: string;
  /** Receives a sentence that says what was done. */
  readonly onDone: (text: string) => void;
  readonly onClose: () => void;
};

type Input = { readonly cardId: string; readonly body: UpdateCardBody };

export function useUpdateCard() {
  return useAction(({ cardId, body }: Input, api, { programId }) => api.cards.update(cardId, body, { programId }));
}

/** Changes some fields of a card, based on the values that the form showed. */
function useEditCard(card: CardRecord) {
  const opened = useOpened(card);
  return useAction(async (body: UpdateCardBody, api, { programId }) => {
    const now = await api.cards.get(card.card_id, { programId });
    return api.cards.update(card.card_id, body, { programId, ifMatch: versionFor(body, opened, now) });
  });
}

/** Changes the limits of the card itself. The limits of its program are unchanged. */
export function CardLimitsDialog({ card, name, onDone, onClose }: CardDialogParts) {
  const update = useEditCard(card);
  return (
    <LimitsDialog
      title={`Limits of ${name}`}
      confirm={`Save the limits of ${name}`}
      field="limits"
      limits={card.limits}
      currency={card.currency}
      hasBalance
      pending={update.pending}
      error={update.error}
      onConfirm={async (limits: LimitsChange) => {
        if ((await update.run({ limits })) !== undefined) onDone(`The limits of ${name} were changed.`);
      }}
      onClose={onClose}
    />
  );
}

type Fields = {
  readonly holder_reference: string;
  readonly last_four: string;
  readonly expires_on: string;
  readonly metadata: string;
};

const TEXTS = ['holder_reference', 'last_four', 'expires_on'] as const;

/** Changes the holder, the last four digits, the expiry date and the metadata. Only changed fields are sent. */
export function CardDetailsDialog({ card, name, onDone, onClose }: CardDialogParts) {
  const update = useEditCard(card);
  const [before] = useState<Fields>(() => fieldsOf(card));
  const [fields, setFields] = useState(before);
  const metadata = readMetadataChange(card.metadata, fields.metadata);
  const problems = problemsOf(fields, metadata);
  const changed = TEXTS.filter((field) => fields[field].trim() !== before[field]);
  const body: UpdateCardBody = {
    ...Object.fromEntries(changed.map((field) => [field, fields[field].trim() === '' ? null : fields[field].trim()])),
    ...(metadata !== undefined && Object.keys(metadata).length > 0 && { metadata }),
  };
  const confirm = async () => {
    const updated = await update.run(body);
    if (updated !== undefined) onDone(`The details of ${name} were changed.`);
  };
  const text = (field: (typeof TEXTS)[number], label: string, hint: string, isDate = false) => (
    <TextField
      label={label}
      name={field}
      hint={hint}
      type={isDate ? 'date' : 'text'}
      value={fields[field]}
      problem={problems[field]}
      onInput={(value) => setFields({ ...fields, [field]: value })}
    />
  );
  return (
    <ConfirmDialog
      title={`Details of ${name}`}
      confirm={`Save the details of ${name}`}
      pending={update.pending}
      disabled={Object.keys(body).length === 0 || Object.keys(problems).length > 0}
      error={update.error}
      onConfirm={() => void confirm()}
      onClose={onClose}
    >
      {text(
        'holder_reference',
        'Holder reference',
        'Your name for the holder, such as “employee 7”. Never a card number.',
      )}
      {text('last_four', 'Last four digits', 'Of the card number.')}
      {text(
        'expires_on',
        'Expires',
        'The last day that the card can be used. Leave empty for a card that does not expire.',
        true,
      )}
      <AreaField
        label="Metadata"
        name="metadata"
        hint="One pair per line: name = value."
        rows={3}
        value={fields.metadata}
        problem={problems.metadata}
        onInput={(value) => setFields({ ...fields, metadata: value })}
      />
    </ConfirmDialog>
  );
}

function fieldsOf({ holder_reference, last_four, expires_on, metadata }: CardRecord): Fields {
  return {
    holder_reference: holder_reference ?? '',
    last_four: last_four ?? '',
    expires_on: expires_on ?? '',
    metadata: metadataText(metadata),
  };
}

function problemsOf(fields: Fields, metadata: object | undefined): Partial<Record<keyof Fields, string>> {
  const problems: Partial<Record<keyof Fields, string>> = {};
  if (!/^([0-9]{4})?$/.test(fields.last_four.trim())) problems.last_four = 'Enter four digits.';
  if (metadata === undefined) problems.metadata = 'Each line needs a name, an equals sign and a value.';
  for (const field of ['holder_reference', 'metadata'] as const) {
    if (hasCardNumber(fields[field])) problems[field] = 'This looks like a card number. It was not sent.';
  }
  return problems;
}
