import { useEffect, useRef, useState } from 'preact/hooks';
import type { AuditPortion } from '../../../sdk/client.ts';
import { Button, CopyButton } from '../../components/button.tsx';
import { Details } from '../../components/details.tsx';
import { ErrorRecord } from '../../components/error-record.tsx';
import { Progress } from '../../components/loaded.tsx';
import { Moment } from '../../components/moment.tsx';
import { client } from '../../data/client.ts';
import { formatCount } from '../../format/amounts.ts';

type Verification = {
  readonly isRunning: boolean;
  readonly verified: number;
  readonly last: AuditPortion;
  readonly at: string;
};

/** Verifies the whole log in batches, and shows its last position and hash, for the user to note elsewhere. */
export function VerifyChain() {
  const [found, setFound] = useState<Verification | undefined>(undefined);
  const [isRunning, setRunning] = useState(false);
  const [error, setError] = useState<Error | undefined>(undefined);
  const leaving = useRef<AbortController | undefined>(undefined);
  useEffect(() => () => leaving.current?.abort(), []);
  const verify = async () => {
    leaving.current?.abort();
    const controller = new AbortController();
    const { signal } = controller;
    leaving.current = controller;
    setRunning(true);
    setError(undefined);
    setFound(undefined);
    try {
      let verified = 0;
      for (let after: number | null = 0; after !== null && !signal.aborted; ) {
        const last: AuditPortion = await client.audit.verify(after === 0 ? {} : { after }, { signal });
        verified += last.verified;
        after = last.intact ? last.next_after : null;
        setFound({ isRunning: after !== null, verified, last, at: new Date().toISOString() });
      }
    } catch (thrown) {
      if (!signal.aborted) setError(thrown instanceof Error ? thrown : new Error(String(thrown)));
    }
    if (!signal.aborted) setRunning(false);
  };
  return (
    <>
      <p>
        <Button onClick={verify} pending={isRunning}>
          Verify the log
        </Button>
      </p>
      {error !== undefined && <ErrorRecord error={error} stale={found !== undefined} />}
      {isRunning && (
        <Progress
          label={found === undefined ? 'Verifying' : `Verified up to entry ${formatCount(found.last.position)}`}
          value={found?.last.position}
          max={Math.max(found?.last.head?.position ?? 1, 1)}
        />
      )}
      {found !== undefined && !found.isRunning && <Verdict found={found} />}
    </>
  );
}

function Verdict({ found: { verified, last, at } }: { readonly found: Verification }) {
  const { intact, first_broken: broken, position, hash } = last;
  return (
    <div role="status" class="loaded">
      {intact ? (
        <p class="answer">
          The log is intact: {formatCount(verified)} {verified === 1 ? 'entry' : 'entries'} checked, none changed,
          removed, inserted or moved.
        </p>
      ) : (
        <p class="answer unknown">
          <b>The log is not intact.</b> {broken?.message} Nothing after it was checked. See{' '}
          <a href="/guides/audit">the guide</a>.
        </p>
      )}
      <Details
        facts={[
          ['Last entry', formatCount(position)],
          [
            'Latest hash',
            <span class="id">
              <code>{hash}</code>
              <CopyButton text={`${position} ${hash}`} label="Copy the position and the hash" />
            </span>,
          ],
          ['Verified', <Moment at={at} actual />],
        ]}
      />
      <p class="quiet">
        Store the position and the hash where no one with access to the database can change them. Only a hash that you
        noted earlier can show that the latest entries were removed. On the service's host,{' '}
        <code>audit verify --expect</code> compares that hash with the log.
      </p>
    </div>
  );
}
