import {
  type CreateKeyBody,
  KEY_SCOPES,
  type KeyScope,
  PROGRAM_SCOPES,
  ROLES,
  type Role,
} from '../../../sdk/client.ts';
import { ApprovalNotice } from '../../components/approval.tsx';
import { ConfirmDialog, SecretDialog } from '../../components/dialogs/dialog.tsx';
import { ErrorRecord } from '../../components/error-record.tsx';
import { CheckField, SelectField, TextField } from '../../components/field.tsx';
import { TimeField } from '../../components/time-field.tsx';
import { useKeptState } from '../../data/kept-forms.ts';
import { useProgram } from '../../data/program.ts';
import { useSession } from '../../data/session.ts';
import { useAction } from '../../data/use-action.ts';
import { useOperation } from '../../data/use-operation.ts';

const MEANINGS: Readonly<Record<Role, string>> = {
  viewer: 'viewer: reads transfers, cards, errors, events, webhooks and cases',
  support: 'support: reads everything, answers cases, announces incidents',
  treasurer: 'treasurer: reads everything, deposits and withdraws',
  operator: 'operator: everything that support can do, and changes transfers, cards, webhooks, cases and the switch',
  approver: "approver: reads everything, approves and rejects other people's requests",
  administrator: 'administrator: everything',
};

type Access = { readonly programId: string; readonly role: string; readonly scopes: readonly KeyScope[] };

/** Returns the part of the body of create_key with the permissions. It contains only the fields that the form shows. */
function bodyOf({ programId, role, scopes }: Access): Omit<CreateKeyBody, 'name' | 'expires_at'> {
  return {
    ...(role === 'own' ? { scopes } : { role: role as Role }),
    ...(programId === '' ? { all_programs: true } : { program_id: programId }),
  };
}

/** Asks for the name and the permissions of a new key, and shows its secret once. */
export function CreateKeyDialog({ onClose, onDone }: { readonly onClose: () => void; readonly onDone: () => void }) {
  const [name, setName] = useKeptState('name', '');
  const [access, setAccess] = useKeptState<Access>('access', { programId: '', role: 'support', scopes: [] });
  const [expires, setExpires] = useKeptState('expires', '');
  const create = useAction((body: CreateKeyBody, api, options) => api.keys.create(body, options), {
    operation: 'create_key',
  });
  const isNothing = access.role === 'own' && access.scopes.length === 0;
  const submit = async () => {
    const body = { name, ...bodyOf(access), ...(expires === '' ? {} : { expires_at: expires }) };
    if ((await create.run(body)) !== undefined) onDone();
  };
  if (create.result !== undefined) {
    const { key, key_omitted: omitted } = create.result;
    const title = `The key for ${create.result.name}`;
    return <SecretDialog title={title} label="The key" secret={key} omitted={omitted} onClose={onClose} />;
  }
  return (
    <ConfirmDialog
      title="Create a key"
      confirm={name.trim() === '' ? 'Create the key' : `Create the key for ${name.trim()}`}
      pending={create.pending}
      disabled={name === '' || isNothing}
      error={create.error}
      onConfirm={() => void submit()}
      onClose={onClose}
    >
      <TextField
        label="Name"
        name="name"
        value={name}
        onInput={setName}
        required
        hint="Who or what uses it, such as “Ada, support”. The audit log keeps this forever."
      />
      <AccessFields access={access} onChange={setAccess} />
      <TimeField
        label="Expires"
        name="expires_at"
        value={expires}
        onChange={setExpires}
        presets="distant"
        isActual
        hint="Leave empty for a key that does not expire."
      />
      <ApprovalNotice operation="create_key" />
    </ConfirmDialog>
  );
}

function AccessFields({ access, onChange }: { readonly access: Access; readonly onChange: (access: Access) => void }) {
  const { programId: chosen } = useProgram();
  const { has } = useSession();
  const programs = useOperation((api, options) => api.programs.list({ limit: 100 }, options));
  const { programId, role, scopes } = access;
  // Lists only scopes that the caller can grant. A key cannot grant operator scopes that it lacks.
  const grantable = KEY_SCOPES.filter((scope) => isOfPrograms(scope) || (programId === '' && has(scope)));
  const chooseProgram = (next: string) =>
    onChange({
      programId: next,
      // A key of one card program can only be a viewer, because the other roles contain operator scopes.
      role: next === '' || role === 'own' ? role : 'viewer',
      scopes: next === '' ? scopes : scopes.filter(isOfPrograms),
    });
  return (
    <>
      <SelectField
        label="Card program"
        name="program_id"
        value={programId}
        onChange={chooseProgram}
        options={[
          ['', 'All card programs'],
          ...(programs.data?.data ?? []).map(
            (one) => [one.program_id, nameOf(one.name, one.program_id === chosen)] as const,
          ),
        ]}
      />
      {programs.error !== undefined && <ErrorRecord error={programs.error} />}
      <SelectField
        label="Role"
        name="role"
        value={role}
        onChange={(next) => onChange({ ...access, role: next })}
        options={[
          ...ROLES.filter((one) => programId === '' || one === 'viewer').map((one) => [one, MEANINGS[one]] as const),
          ['own', 'custom: choose scopes'],
        ]}
      />
      {role === 'own' && (
        <fieldset class="choices">
          <legend>Scopes</legend>
          {grantable.map((scope) => (
            <CheckField
              key={scope}
              label={<code>{scope}</code>}
              checked={scopes.includes(scope)}
              onChange={(checked) => {
                const others = scopes.filter((other) => other !== scope);
                onChange({ ...access, scopes: checked ? [...others, scope] : others });
              }}
            />
          ))}
        </fieldset>
      )}
    </>
  );
}

function isOfPrograms(scope: KeyScope): boolean {
  return PROGRAM_SCOPES.some((one) => one === scope);
}

function nameOf(name: string, isChosen: boolean): string {
  return isChosen ? `${name} (chosen)` : name;
}
