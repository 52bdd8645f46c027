import { useEffect, useState } from 'preact/hooks';
import type { CaseDetails, CaseMessage, InspectedCase, ResolveCaseBody } from '../../../sdk/client.ts';
import { Badge } from '../../components/badge.tsx';
import { Button, WhoMay } from '../../components/button.tsx';
import { ConfirmDialog } from '../../components/dialogs/dialog.tsx';
import { AreaField } from '../../components/field.tsx';
import { Form } from '../../components/form.tsx';
import { Moment } from '../../components/moment.tsx';
import { KeyName } from '../../components/name.tsx';
import { Section } from '../../components/page.tsx';
import { ResolutionFields, useResolution } from '../../components/support/resolution.tsx';
import { useNow } from '../../data/clock.ts';
import { workOn } from '../../data/location.ts';
import { useProgramId, useProgramOf } from '../../data/program.ts';
import { useSession } from '../../data/session.ts';
import { useAction } from '../../data/use-action.ts';
import { type OperationState, useOperation } from '../../data/use-operation.ts';
import { OUTCOMES, STATUS_TONES, statusOf } from '../../format/support/cases.ts';

type Parts = {
  readonly record: ShownCase;
  readonly onDone: (text: string) => void;
};

/**
 * Shows the messages of a case, oldest first, with the buttons to reply, resolve and close. Everything is shown as plain text.
 */
export function Conversation({ record, onDone }: Parts) {
  const { can } = useSession();
  const [open, setOpen] = useState<'resolve' | 'close' | undefined>(undefined);
  const { status } = record;
  const side = can('answer_case') ? 'support' : 'caller';
  const close = () => setOpen(undefined);
  const done = (text: string) => {
    close();
    onDone(text);
  };
  const mayResolve = can('resolve_case') && (status === 'open' || status === 'waiting');
  return (
    <Section
      title="Conversation"
      actions={
        <>
          <Badge tone={STATUS_TONES[status]}>{statusOf(status, side)}</Badge>
          {mayResolve && <Button onClick={() => setOpen('resolve')}>Resolve…</Button>}
          {can('close_case') && status !== 'closed' && <Button onClick={() => setOpen('close')}>Close…</Button>}
        </>
      }
    >
      <ol class="messages">
        <Opening record={record} />
        {record.messages.map((message) => (
          <li key={message.message_id} class={`of-${message.from}`}>
            <p class="message-head">
              <Author message={message} /> <Moment at={message.created_at} distance />
            </p>
            <Text text={message.text} />
          </li>
        ))}
        <Ending record={record} />
      </ol>
      <ReplyForm record={record} side={side} onDone={onDone} />
      {open === 'resolve' && <ResolveDialog record={record} onDone={done} onClose={close} />}
      {open === 'close' && <CloseDialog record={record} onDone={done} onClose={close} />}
    </Section>
  );
}

/** Shows text with its line breaks, never as markup. */
export function Text({
  text,
  none = 'This text was erased.',
}: {
  readonly text: string | null;
  readonly none?: string;
}) {
  return text === null ? <p class="quiet">{none}</p> : <p class="message-text">{text}</p>;
}

function Opening({ record }: { readonly record: ShownCase }) {
  const { created_by: creator, created_at: at, text, contact, request_id: requestId, transfer_id: transferId } = record;
  const isAbout = requestId !== null || transferId !== null;
  return (
    <li class="of-caller">
      <p class="message-head">
        <b>
          Opened by <KeyName id={creator} plain />
        </b>{' '}
        <Moment at={at} distance />
      </p>
      <Text text={text} none={isAbout ? 'No text: the error says what happened.' : 'This text was erased.'} />
      {contact !== null && <p class="message-head">Contact: {contact}</p>}
    </li>
  );
}

function Author({ message }: { readonly message: CaseMessage }) {
  const { from, author, external_author: external } = message;
  const who = external ?? author;
  return (
    <b>
      {from === 'support' ? 'Support' : 'Caller'}
      {who !== null && ', '}
      {external ?? (from === 'caller' || author === 'sandbox' ? <KeyName id={author} plain /> : author)}
    </b>
  );
}

function Ending({
  record: { status, outcome, resolution, resolved_at: at, closed_at: closedAt },
}: {
  readonly record: ShownCase;
}) {
  return (
    <>
      {outcome !== null && at !== null && (status === 'resolved' || status === 'closed') && (
        <li class="of-support resolution">
          <p class="message-head">
            <b>Resolved: {OUTCOMES[outcome].toLowerCase()}</b> <Moment at={at} distance />
          </p>
          <Text text={resolution} />
        </li>
      )}
      {closedAt !== null && (
        <li class="quiet">
          Closed <Moment at={closedAt} distance />
        </li>
      )}
    </>
  );
}

/** For this long after a case was resolved, a message reopens it. */
const REOPENING_MILLISECONDS = 30 * 86_400_000;

function ReplyForm({ record, side, onDone }: Parts & { readonly side: 'support' | 'caller' }) {
  const { can } = useSession();
  const now = useNow();
  const { case_id: id, status, resolved_at: resolvedAt } = record;
  const [text, setText] = useState('');
  const operation = side === 'support' ? 'answer_case' : 'reply_to_case';
  const reply = useAction(
    ({ text: sent }: { readonly text: string }, api, options) =>
      side === 'support' ? api.cases.answer(id, { text: sent }, options) : api.cases.reply(id, { text: sent }, options),
    { operation: `${operation} ${id}` },
  );
  const isOver = resolvedAt !== null && now - Date.parse(resolvedAt) >= REOPENING_MILLISECONDS;
  if (status === 'closed' || (status === 'resolved' && isOver)) {
    return <p class="quiet">This case is closed. Open a new one to ask again.</p>;
  }
  if (!can(operation)) return <WhoMay operation="reply_to_case" to="write in this case" />;
  const send = async () => {
    const sent = text.trim();
    if (sent === '' || (await reply.run({ text: sent })) === undefined) return;
    setText('');
    onDone(side === 'support' ? 'Sent to the caller.' : 'Sent to support.');
  };
  return (
    <Form
      look="form reply"
      error={reply.error}
      onSubmit={() => void send()}
      footer={
        <p>
          <Button type="submit" kind="main" pending={reply.pending} disabled={text.trim() === ''}>
            Send
          </Button>
        </p>
      }
    >
      <AreaField
        name="text"
        label={side === 'support' ? 'Reply to the caller' : 'Write to support'}
        value={text}
        onInput={setText}
        isProse
        shortcut="r"
        onSubmit={() => void send()}
        hint={
          status === 'resolved'
            ? 'A message reopens the case.'
            : 'No card numbers. Press r to write, Ctrl-Enter to send.'
        }
      />
    </Form>
  );
}

type EndParts = Parts & { readonly onClose: () => void };

function ResolveDialog({ record: { case_id: id, incident_id: incidentId }, onDone, onClose }: EndParts) {
  const { fields, setFields, body } = useResolution();
  const resolve = useAction((sent: ResolveCaseBody, api, options) => api.cases.resolve(id, sent, options), {
    operation: `resolve_case ${id}`,
  });
  const confirm = async () => {
    if (body !== undefined && (await resolve.run(body)) !== undefined) onDone('Resolved. The caller is notified.');
  };
  return (
    <ConfirmDialog
      title="Resolve the case"
      confirm="Resolve the case"
      pending={resolve.pending}
      disabled={body === undefined}
      error={resolve.error}
      onConfirm={() => void confirm()}
      onClose={onClose}
    >
      {incidentId !== null && <p>It belongs to an incident. Ending the incident also resolves it.</p>}
      <ResolutionFields fields={fields} onChange={setFields} />
    </ConfirmDialog>
  );
}

function CloseDialog({ record: { case_id: id, status }, onDone, onClose }: EndParts) {
  const close = useAction((_: { readonly id: string }, api, options) => api.cases.close(id, options));
  const confirm = async () => {
    if ((await close.run({ id })) !== undefined) onDone('Closed.');
  };
  return (
    <ConfirmDialog
      title="Close the case"
      confirm="Close the case"
      kind="danger"
      pending={close.pending}
      error={close.error}
      onConfirm={() => void confirm()}
      onClose={onClose}
    >
      <p>
        {status === 'resolved' ? '' : 'It was not resolved. '}No one can write in it after that. This cannot be undone.
      </p>
    </ConfirmDialog>
  );
}

const POLL_MILLISECONDS = 5_000;

/** A case. The fields that only operators see are null for its card program. */
export type ShownCase = CaseDetails & {
  readonly inspected: Pick<InspectedCase, 'snapshot' | 'incidents' | 'similar' | 'urgency'> | null;
};

/**
 * Reads a case. For support, it calls `inspect_case` only once, because each call adds an entry to the audit log. Then it polls
 * for changes with `get_case`, as for a card program.
 */
export function useCase(caseId: string): OperationState<ShownCase> {
  const { can } = useSession();
  const chosen = useProgramId();
  const isSupport = can('inspect_case');
  const inspected = useOperation(isSupport ? (api, options) => api.cases.inspect(caseId, options) : undefined, {
    deps: [caseId],
    ofAnyProgram: true,
  });
  const found = inspected.data;
  const programId = isSupport ? found?.program_id : chosen;
  const polled = useOperation(
    can('get_case') && (!isSupport || found !== undefined)
      ? (api, options) => api.cases.get(caseId, { ...options, ...(programId !== undefined && { programId }) })
      : undefined,
    { deps: [caseId, programId], pollMilliseconds: POLL_MILLISECONDS },
  );
  useEffect(() => {
    if (found !== undefined) workOn(found.case_id);
  }, [found?.case_id]);
  // Everything that the case links to, such as the transfer, belongs to the program of the case.
  useProgramOf(found?.program_id);
  if (!isSupport) return { ...polled, data: polled.data && { ...polled.data, inspected: null } };
  return {
    ...inspected,
    error: inspected.error ?? polled.error,
    stale: inspected.stale || polled.stale,
    data: found && { ...found, ...polled.data, inspected: found },
    reload: () => (polled.data === undefined ? inspected : polled).reload(),
  };
}
