import type { Overview } from '../../../sdk/client.ts';
import { CopyButton } from '../../components/button.tsx';
import { Section } from '../../components/page.tsx';
import { hrefTo } from '../../data/location.ts';
import { useSession } from '../../data/session.ts';

/** Says what to do first, while there are no transfers. */
export function Start({ mode }: { readonly mode: Overview['status']['mode'] }) {
  return (
    <Section title="No transfers in the last 24 hours">
      <p>Figures and charts appear here with the first transfer.</p>
      {mode === 'sandbox' ? <StartInSandbox /> : <StartLive />}
    </Section>
  );
}

function StartInSandbox() {
  const { caller } = useSession();
  // A sandbox needs no key from a caller on its machine, and then uses the demo program.
  const key = caller === 'sandbox' ? '' : '-H "Authorization: Bearer <key>" -H "Program-Id: <program_id>" ';
  const body = `'{"amount": 1000, "card_id": "card_active"}'`;
  const command = `curl ${window.location.origin}/api/v0.1/core/transfer ${key}-d ${body}`;
  return (
    <ol class="start">
      <li>
        Load 10.00 USD onto a card of the demo program:
        <div class="start-command">
          <code>{command}</code>
          <CopyButton text={command} label="Copy the command" />
        </div>
      </li>
      <li>
        <a href={hrefTo('/console/sandbox')}>Provoke an error</a> to see how the service explains a failure.
      </li>
      <li>
        Read the <a href="/guides/quickstart">Quickstart</a>: a transfer, an error and a webhook in ten minutes.
      </li>
    </ol>
  );
}

function StartLive() {
  return (
    <ol class="start">
      <li>
        Create a <a href={hrefTo('/console/programs')}>card program</a> and deposit money, if there is none.
      </li>
      <li>
        Create a <a href={hrefTo('/console/keys')}>key</a> for the program that will send transfers.
      </li>
      <li>
        Read <a href="/guides/go-live">Go live</a>.
      </li>
    </ol>
  );
}
