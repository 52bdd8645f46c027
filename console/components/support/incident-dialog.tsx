import { useState } from 'preact/hooks';
import type { CreateIncidentBody, OperatorIncidentRecord, UpdateIncidentBody } from '../../../sdk/client.ts';
import { hrefTo, navigate } from '../../data/location.ts';
import { useAction } from '../../data/use-action.ts';
import { pathOf } from '../../format/ids.ts';
import { bodyOf, codesIn, type IncidentDraft } from '../../format/support/incidents.ts';
import { ConfirmDialog } from '../dialogs/dialog.tsx';
import { AreaField, ProgramField, SelectField, TextField } from '../field.tsx';
import { TimeField } from '../time-field.tsx';

type Changes = Partial<IncidentDraft>;

/** Opens an incident. Known facts are filled in, and the user decides what callers read. */
export function IncidentDialog({ draft, onClose }: { readonly draft: IncidentDraft; readonly onClose: () => void }) {
  const [fields, setFields] = useState(draft);
  const change = (changes: Changes) => setFields({ ...fields, ...changes });
  const create = useAction((body: CreateIncidentBody, api, options) => api.incidents.create(body, options), {
    operation: 'create_incident',
  });
  const { scope } = fields;
  const isMissing =
    isWithoutTexts(fields) ||
    (scope === 'program' && fields.program_id === '') ||
    (scope === 'operation' && fields.operation.trim() === '');
  const confirm = async () => {
    const made = await create.run(bodyOf(fields));
    if (made !== undefined) navigate(hrefTo(pathOf(made.incident_id) ?? ''));
  };
  return (
    <ConfirmDialog
      title="Open an incident"
      confirm="Open the incident"
      pending={create.pending}
      disabled={isMissing}
      error={create.error}
      onConfirm={() => void confirm()}
      onClose={onClose}
    >
      <TextFields fields={fields} onChange={change} />
      <SelectField
        label="What it covers"
        name="scope"
        value={scope}
        onChange={(chosen) => change({ scope: chosen as IncidentDraft['scope'] })}
        options={[
          ['all', 'Everything'],
          ['program', 'One card program'],
          ['operation', 'One operation'],
        ]}
      />
      {scope === 'program' && (
        <ProgramField value={fields.program_id} onChange={(program_id) => change({ program_id })} />
      )}
      {scope === 'operation' && (
        <TextField
          label="Operation"
          name="operation"
          value={fields.operation}
          placeholder="create_transfer"
          onInput={(operation) => change({ operation })}
        />
      )}
      <CodesField fields={fields} onChange={change} />
      <TimeField
        label="Began"
        name="started_at"
        value={fields.started_at}
        onChange={(started_at) => change({ started_at })}
        presets="past"
        hint="Cases opened since then are proposed. If empty, the incident starts now."
      />
    </ConfirmDialog>
  );
}

type EditParts = {
  readonly incident: OperatorIncidentRecord;
  readonly onDone: (text: string) => void;
  readonly onClose: () => void;
};

/** Changes the wording and the codes of an incident. Affected callers are notified. */
export function EditIncidentDialog({ incident, onDone, onClose }: EditParts) {
  const { incident_id: id, title, public_text, internal_text, codes } = incident;
  const [before] = useState({ title, public_text, internal_text: internal_text ?? '', codes: codes.join(' ') });
  const [fields, setFields] = useState(before);
  // This operation needs no idempotency key: sending it twice changes nothing more.
  const update = useAction((body: UpdateIncidentBody, api, { idempotencyKey: _, ...options }) =>
    api.incidents.update(id, body, options),
  );
  const changes: UpdateIncidentBody = {
    ...(fields.title !== before.title && { title: fields.title.trim() }),
    ...(fields.public_text !== before.public_text && { public_text: fields.public_text.trim() }),
    ...(fields.internal_text !== before.internal_text && { internal_text: fields.internal_text.trim() || null }),
    ...(fields.codes !== before.codes && { codes: [...codesIn(fields.codes)] }),
  };
  const confirm = async () => {
    if ((await update.run(changes)) !== undefined)
      onDone('Changed. Callers are notified of the changes that they can see.');
  };
  return (
    <ConfirmDialog
      title="Change the incident"
      confirm="Save"
      pending={update.pending}
      disabled={isWithoutTexts(fields) || Object.keys(changes).length === 0}
      error={update.error}
      onConfirm={() => void confirm()}
      onClose={onClose}
    >
      <TextFields fields={fields} onChange={(more) => setFields({ ...fields, ...more })} />
      <CodesField fields={fields} onChange={(more) => setFields({ ...fields, ...more })} />
    </ConfirmDialog>
  );
}

type Texts = Pick<IncidentDraft, 'title' | 'public_text' | 'internal_text' | 'codes'>;

type FieldParts = { readonly fields: Texts; readonly onChange: (changes: Partial<Texts>) => void };

const isWithoutTexts = ({ title, public_text: text }: Texts): boolean => title.trim() === '' || text.trim() === '';

function TextFields({ fields, onChange }: FieldParts) {
  return (
    <>
      <TextField
        label="Title"
        name="title"
        value={fields.title}
        onInput={(title) => onChange({ title })}
        hint="Callers can read it."
      />
      <AreaField
        label="What callers should know"
        name="public_text"
        value={fields.public_text}
        onInput={(public_text) => onChange({ public_text })}
        isProse
        hint="All affected callers can read it. Plain text."
      />
      <AreaField
        label="Note for operators only (optional)"
        name="internal_text"
        rows={2}
        value={fields.internal_text}
        onInput={(internal_text) => onChange({ internal_text })}
        isProse
      />
    </>
  );
}

function CodesField({ fields, onChange }: FieldParts) {
  return (
    <TextField
      label="Error codes"
      name="codes"
      value={fields.codes}
      onInput={(codes) => onChange({ codes })}
      hint="Separate codes with spaces. Leave empty for all errors."
    />
  );
}
