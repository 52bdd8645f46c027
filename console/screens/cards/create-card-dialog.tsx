import { useState } from 'preact/hooks';
import type { CreateCardBody } from '../../../sdk/client.ts';
import { ConfirmDialog } from '../../components/dialogs/dialog.tsx';
import { TextField } from '../../components/field.tsx';
import { hrefTo, navigate } from '../../data/location.ts';
import { useName } from '../../data/names.ts';
import { useAction } from '../../data/use-action.ts';
import { hasCardNumber } from '../../format/card-numbers.ts';
import { pathOf } from '../../format/ids.ts';

const EMPTY = { card_id: '', holder_reference: '', last_four: '', currency: '' };

/** Creates a card in a program, and opens its screen. */
export function CreateCardDialog({ programId, onClose }: { readonly programId: string; readonly onClose: () => void }) {
  const [fields, setFields] = useState(EMPTY);
  const { name } = useName('program', programId);
  const create = useAction((body: CreateCardBody, api, options) => api.cards.create(body, { ...options, programId }), {
    operation: `create_card ${programId}`,
  });
  const problems = problemsOf(fields);
  const submit = async () => {
    const filled = Object.entries(fields).map(([field, text]) => [field, text.trim()] as const);
    const made = await create.run(Object.fromEntries(filled.filter(([, text]) => text !== '')));
    if (made !== undefined) navigate(hrefTo(pathOf(made.card_id, 'card') ?? '', { program: programId }));
  };
  const text = (field: keyof typeof EMPTY, label: string, hint: string) => (
    <TextField
      label={label}
      name={field}
      hint={hint}
      value={fields[field]}
      problem={problems[field]}
      onInput={(value) => setFields({ ...fields, [field]: field === 'currency' ? value.toUpperCase() : value })}
    />
  );
  return (
    <ConfirmDialog
      title={name === undefined ? 'New card' : `New card of ${name}`}
      confirm="Create the card"
      pending={create.pending}
      disabled={Object.keys(problems).length > 0}
      error={create.error}
      onConfirm={submit}
      onClose={onClose}
    >
      {text(
        'holder_reference',
        'Holder reference',
        'Optional. Your name for the holder, such as “employee 7”. Never a card number.',
      )}
      {text('last_four', 'Last four digits', 'Optional. Of the card number.')}
      {text('card_id', 'Card id', 'Optional. Your id for the card, which must be unique in the program.')}
      {text('currency', 'Currency', "Three letters, such as USD. Leave empty for the program's currency.")}
    </ConfirmDialog>
  );
}

function problemsOf(fields: typeof EMPTY): Partial<Record<keyof typeof EMPTY, string>> {
  return {
    ...(hasCardNumber(fields.card_id) && { card_id: CARD_NUMBER }),
    ...(hasCardNumber(fields.holder_reference) && { holder_reference: CARD_NUMBER }),
    ...(!/^([0-9]{4})?$/.test(fields.last_four.trim()) && { last_four: 'Enter four digits.' }),
  };
}

const CARD_NUMBER = 'This looks like a card number. It was not sent.';
