import { ErrorRecord } from '../../components/error-record.tsx';
import { Section } from '../../components/page.tsx';
import { useSession } from '../../data/session.ts';
import { useOperation } from '../../data/use-operation.ts';
import { chainsOf } from '../transfer/duplicate-words.ts';
import { Duplicates } from '../transfer/duplicates.tsx';

/** Transfers that were probably made twice: the first thing to look at when somebody was charged twice. */
export function CardDuplicates({
  cardId,
  onDone,
}: {
  readonly cardId: string;
  /** Receives what was done, in words. */
  readonly onDone: (text: string) => void;
}) {
  const { can } = useSession();
  const { data, error, reload } = useOperation(
    can('list_likely_duplicates')
      ? (api, options) => api.cards.likelyDuplicates(cardId, { limit: 10 }, options)
      : undefined,
    { deps: [cardId], isOwn: true },
  );
  if (error !== undefined) return <ErrorRecord error={error} stale={data !== undefined} />;
  if (data === undefined || data.data.length === 0) return null;
  return (
    <Section title="Likely duplicates">
      <Duplicates
        chains={chainsOf(data.data)}
        onDone={(text) => {
          onDone(text);
          reload();
        }}
      />
      {data.next_cursor !== null && <p class="hint">There may be older ones: see all transfers of the card.</p>}
    </Section>
  );
}
