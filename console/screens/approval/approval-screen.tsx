import { useState } from 'preact/hooks';
import type { ApprovalRecord } from '../../../sdk/client.ts';
import { Actions } from '../../components/actions.tsx';
import { Details, type Fact } from '../../components/details.tsx';
import { ConfirmDialog } from '../../components/dialogs/dialog.tsx';
import { AreaField } from '../../components/field.tsx';
import { Id, LinkedText } from '../../components/id.tsx';
import { Loaded } from '../../components/loaded.tsx';
import { Moment } from '../../components/moment.tsx';
import { KeyName, ProgramName } from '../../components/name.tsx';
import { Page, Section } from '../../components/page.tsx';
import { useKeptState } from '../../data/kept-forms.ts';
import type { Parameters } from '../../data/location.ts';
import { useSession } from '../../data/session.ts';
import { useAction } from '../../data/use-action.ts';
import { useOperation } from '../../data/use-operation.ts';
import { kindOf, piecesOf } from '../../format/ids.ts';
import { askedBy, compareValues, factsOf, sentenceOf } from '../../format/operators/approvals.ts';
import { ApprovalState } from '../approvals/approvals-screen.tsx';

const POLL_MILLISECONDS = 5_000;

type Decision = 'approve' | 'reject' | 'withdraw';

/**
 * Shows a request that is waiting for a second person: a sentence, what the request changes, and the buttons for people who may
 * decide.
 */
export function ApprovalScreen({ parameters }: { readonly parameters: Parameters }) {
  const id = parameters.approval_id ?? '';
  const state = useOperation((api, { programId: _, ...options }) => api.approvals.get(id, options), {
    deps: [id],
    pollMilliseconds: POLL_MILLISECONDS,
  });
  const [open, setOpen] = useKeptState<Decision | undefined>('open', undefined);
  const [done, setDone] = useState('');
  const approval = state.data;
  const close = () => setOpen(undefined);
  return (
    <Page
      title={approval === undefined ? 'Approval' : sentenceOf(approval)}
      actions={approval?.status === 'pending' && <Decisions approval={approval} onChoose={setOpen} />}
    >
      <p class={done === '' ? 'hidden' : 'notice'} role="status">
        {done}
      </p>
      <Loaded state={state}>{(found) => <ApprovalContent approval={found} />}</Loaded>
      {open !== undefined && approval !== undefined && (
        <DecisionDialog
          decision={open}
          approval={approval}
          onClose={close}
          onDone={(decided) => {
            close();
            setDone(DONE[decided.status] ?? '');
            state.reload();
          }}
        />
      )}
    </Page>
  );
}

/** The sentence shown after a decision, by the new status. */
const DONE: Readonly<Partial<Record<ApprovalRecord['status'], string>>> = {
  carried_out: 'Approved and carried out.',
  approved: 'Approved. It is being carried out.',
  failed: 'Approved, but the request was refused when it was carried out.',
  rejected: 'Rejected. Nothing has changed.',
  withdrawn: 'Withdrawn. Nothing has changed.',
};

/**
 * The actions that the caller's permissions allow. Only the service knows which keys belong to the same person, so it may still
 * refuse a decision.
 */
function Decisions({
  approval: { requested_by: by, operation },
  onChoose,
}: {
  readonly approval: ApprovalRecord;
  readonly onChoose: (decision: Decision) => void;
}) {
  const { caller, personId, keyId, has, can } = useSession();
  const isOwn = by === personId || by === keyId;
  const mayDecide = has('approvals:write') || can(operation);
  return (
    <>
      <Actions
        kind={isOwn ? 'plain' : 'main'}
        actions={[
          mayDecide && {
            text: 'Approve',
            whyNot: isOwn ? "You can't approve your own request." : undefined,
            onChoose: () => onChoose('approve'),
          },
          (isOwn || caller === 'sandbox') && { text: 'Withdraw the request', onChoose: () => onChoose('withdraw') },
          mayDecide && {
            text: 'Reject…',
            whyNot: isOwn ? 'Withdraw your own request instead.' : undefined,
            isDanger: true,
            onChoose: () => onChoose('reject'),
          },
        ]}
      />
      {!isOwn && !mayDecide && (
        <span class="quiet">
          To decide, you need the permission for the request, or <code>approvals:write</code>.
        </span>
      )}
    </>
  );
}

const WORDS = {
  approve: { title: 'Approve', confirm: 'Approve and carry out', kind: 'main' },
  reject: { title: 'Reject', confirm: 'Reject', kind: 'danger' },
  withdraw: { title: 'Withdraw', confirm: 'Withdraw the request', kind: 'main' },
} as const;

function DecisionDialog({
  decision,
  approval,
  onDone,
  onClose,
}: {
  readonly decision: Decision;
  readonly approval: ApprovalRecord;
  readonly onDone: (decided: ApprovalRecord) => void;
  readonly onClose: () => void;
}) {
  const { approval_id: id, summary } = approval;
  const [reason, setReason] = useKeptState('reason', '');
  const decide = useAction(
    (text: string, api, { idempotencyKey: _, programId: _program, ...options }): Promise<ApprovalRecord> => {
      if (decision === 'withdraw') return api.approvals.withdraw(id, options);
      if (decision === 'reject') return api.approvals.reject(id, { reason: text }, options);
      return api.approvals.approve(id, text === '' ? {} : { reason: text }, options);
    },
  );
  const confirm = async () => {
    const decided = await decide.run(reason.trim());
    if (decided !== undefined) onDone(decided);
  };
  const { title, confirm: text, kind } = WORDS[decision];
  return (
    <ConfirmDialog
      title={`${title} the request of ${askedBy(approval)}`}
      confirm={text}
      kind={kind}
      pending={decide.pending}
      disabled={decision === 'reject' && reason.trim() === ''}
      error={decide.error}
      onConfirm={() => void confirm()}
      onClose={onClose}
    >
      <p>
        {decision === 'approve'
          ? `The service will ${summary} immediately, with the balances and limits at that moment.`
          : `The service will not ${summary}.`}
      </p>
      {decision !== 'withdraw' && (
        <AreaField
          label={decision === 'reject' ? 'Reason' : 'Reason (optional)'}
          value={reason}
          onInput={setReason}
          isProse
          hint={decision === 'reject' ? `${askedBy(approval)} can read it.` : 'The audit log keeps it.'}
        />
      )}
    </ConfirmDialog>
  );
}

function ApprovalContent({ approval }: { readonly approval: ApprovalRecord }) {
  const { status, body, reason, decided_by: decidedBy, decided_at: decidedAt, error, result } = approval;
  return (
    <>
      <Details
        facts={[
          ['Status', <ApprovalState key="status" status={status} />],
          aboutOf(approval).length > 0 && [
            'About',
            aboutOf(approval).map((id) => <Id key={id} id={id} programId={approval.program_id} />),
          ],
          approval.program_id !== null && ['Card program', <ProgramName key="program" id={approval.program_id} />],
          ['Asked by', <KeyName key="by" id={approval.requested_by} />],
          ['Asked', <Moment key="at" at={approval.requested_at} />],
          status === 'pending' && ['Expires', <Moment key="expires" at={approval.expires_at} distance />],
          decidedBy !== null && ['Decided by', <KeyName key="decided-by" id={decidedBy} />],
          decidedAt !== null && ['Decided', <Moment key="decided-at" at={decidedAt} />],
          reason !== null && ['Reason', reason],
          error !== null && ['Refused', error.Message],
          ['Request', <Id key="request" id={approval.request_id} kind="request" />],
          ['Approval', <Id key="id" id={approval.approval_id} kind="other" />],
        ]}
      />
      {body !== null && (
        <Section title="What was asked">
          <Details facts={linkedFactsOf(body)} />
        </Section>
      )}
      <Values approval={approval} />
      {result !== null && (
        <Section title="Result">
          <Details facts={linkedFactsOf(result)} />
        </Section>
      )}
    </>
  );
}

/** The ids in the summary of a request, such as the id of the comparison whose report someone signs. */
function aboutOf({ summary }: ApprovalRecord): readonly string[] {
  return piecesOf(summary).flatMap(({ kind, text }) => (kind === 'id' && kindOf(text) !== 'program' ? [text] : []));
}

const linkedFactsOf = (record: Readonly<Record<string, unknown>>): readonly Fact[] =>
  factsOf(record).map(([name, value]) => [name, <LinkedText key={name} text={value} />]);

/** Shows the values that the decision depends on, at the time of the request and now. */
function Values({ approval: { values_then: before, values_now: now } }: { readonly approval: ApprovalRecord }) {
  if (before === null) return null;
  const rows = compareValues(before, now);
  const hasChanged = rows.some(({ before: then, now: current }) => current !== undefined && current !== then);
  return (
    <Section title={now === null ? 'Values at the time of the request' : 'Values at the time of the request and now'}>
      {now !== null && (
        <p class={hasChanged ? 'approval-notice' : 'quiet'}>
          {hasChanged ? 'Values have changed since the request.' : 'Nothing has changed since the request.'}
        </p>
      )}
      <div class="table-scroll">
        <table class="table compared-values">
          <thead>
            <tr>
              <th scope="col">Value</th>
              <th scope="col">Then</th>
              {now !== null && <th scope="col">Now</th>}
            </tr>
          </thead>
          <tbody>
            {rows.map(({ name, before: then, now: current }) => (
              <tr key={name}>
                <th scope="row">{name}</th>
                <td data-title="Then">
                  <LinkedText text={then} />
                </td>
                {current !== undefined && (
                  <td data-title="Now">
                    {current === then ? (
                      <LinkedText text={current} />
                    ) : (
                      <b>
                        <LinkedText text={current} />
                      </b>
                    )}
                  </td>
                )}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Section>
  );
}
