import { exampleRecord } from '../../contract/errors/examples.ts';
import { curlOf, type ExampleRequest, exampleOf, exampleReply, writtenJson } from '../../contract/examples.ts';
import { OPERATIONS } from '../../contract/operations.ts';
import { DEMO_CARDS, type DemoCard, shownStatus } from '../../contract/sandbox/demo-cards.ts';
import { formatMoney, MAXIMUM_BALANCE } from '../../domain/ledger/money.ts';
import { GUIDES } from './guides/guide-list.ts';
import { drawing } from './guides/guide-page.ts';
import { type Html, html } from './page-html.ts';
import { breakable, copyButton, listing, type Page, type PageContext } from './page-layout.ts';

export const LEAD = 'Move money to, from and between cards on a double-entry ledger. Every error explains its cause.';

/**
 * Returns the page at the root of the service. In a sandbox, it shows an integrator's first requests. In live mode, it shows the
 * first checks.
 */
export function homePage(context: PageContext): Page {
  return {
    title: 'Welcome',
    section: 'home',
    description: LEAD,
    data: undefined,
    content: html`<h1>Transfer Service</h1>
<p class="lead">${LEAD}</p>
<div class="intro">
<figure class="picture">${drawing('docs/concepts.svg')}<figcaption>How money moves: in and out of a card program, to its cards and between them.</figcaption></figure>
<section aria-labelledby="only-here"><h2 id="only-here">What only this service does</h2>
<dl class="reasons">${reasons(context.mode).map(
      ([title, text]) => html`<div><dt>${title}</dt><dd>${text}</dd></div>
`,
    )}</dl></section>
</div>
${context.mode === 'sandbox' ? sandbox(context) : live(context)}
<h2>Where next</h2>
<dl class="says">
<div><dt><a href="/guides">Guides</a></dt><dd>How to call, run and support the service${guideLinks(context.mode === 'sandbox' ? INTEGRATING : RUNNING)}</dd></div>
<div><dt><a href="/docs">API reference</a></dt><dd>Every operation with its fields, its errors, and an example for curl, TypeScript, Python and Go. For tools: <a href="/openapi.json">/openapi.json</a>.</dd></div>
<div><dt><a href="/errors">Errors</a></dt><dd>What you saw, what it means, how to resolve it, and whether money moved.</dd></div>
<div><dt><a href="/events">Events</a></dt><dd>All types of events: when each is sent, what it contains, and how to cause it in the sandbox.</dd></div>
<div><dt><a href="/console">Console</a></dt><dd>See what happened to a request, a transfer or a card; monitor the service, stop transfers, add funds.</dd></div>
<div><dt><a href="/health/ready">Health</a></dt><dd>Whether the service can commit transfers.</dd></div>
</dl>`,
  };
}

function reasons(mode: 'sandbox' | 'live'): readonly (readonly [title: string, text: Html])[] {
  return [
    [
      'Every error says what to do',
      html`Each code has <a href="/errors">a page</a> with its causes and its resolution, and a request id leads to the values that were checked.`,
    ],
    [
      'Money moves once, even if something fails',
      html`With an <a href="/guides/idempotency">idempotency key</a> you can always send a request again. Every response says whether money moved.`,
    ],
    [
      'Ask before you move money',
      html`<a href="/docs/explain_transfer"><code>explain_transfer</code></a> runs every check of a transfer without creating it, and shows the values that each check used.`,
    ],
    [
      'Try every failure first',
      html`${mode === 'sandbox' ? 'This sandbox' : 'A sandbox'} can return any error, stop its database, and move its clock: see the <a href="/guides/sandbox">sandbox guide</a>.`,
    ],
  ];
}

const INTEGRATING = ['quickstart', 'errors-and-retries', 'idempotency', 'webhooks', 'sdk', 'go-live'];
const RUNNING = ['go-live', 'deploy', 'keys', 'upgrades', 'monitoring', 'runbook', 'support-playbook'];

function guideLinks(slugs: readonly string[]): Html {
  const shown = slugs.flatMap((slug) => GUIDES.find((guide) => guide.slug === slug) ?? []);
  const links = shown.map(({ slug, name }, at) => html`${at > 0 && ', '}<a href="/guides/${slug}">${name}</a>`);
  return html`${links.length > 0 && html`: ${links}`}.`;
}

const transfer = (body: Readonly<Record<string, unknown>>): ExampleRequest => ({
  method: 'POST',
  path: OPERATIONS.create_transfer.path,
  headers: {},
  body: writtenJson(body),
});

/** The card for the first error, because this error is the easiest to understand. */
const CLOSED = 'card_closed';

function sandbox({ url, needsKey, supportContact }: PageContext): Html {
  const first = curlOf({ ...exampleOf('create_transfer'), headers: {} }, url, '', needsKey);
  // The request above has no idempotency key. If the sandbox needs no API key, the request has none either.
  const created = {
    ...Object(exampleReply('create_transfer')),
    idempotency_key: null,
    ...(needsKey ? {} : { created_by: 'sandbox' }),
  };
  const refused = curlOf(transfer({ amount: 1_000, card_id: CLOSED }), url, '', needsKey);
  return html`${needsKey && html`<p>Others can reach this sandbox, so its requests need a key: on its machine, run <code>npx transfer-service operator-key create --name first</code>, and set <code>TRANSFER_SERVICE_KEY</code> to the key. With such a key, each request has to name the card program in the header <code>Program-Id</code>. Or create a key for the program: <a href="/guides/keys">API keys</a>.</p>`}
<h2>Create your first transfer</h2>
<p>This request loads 10.00 USD onto a card of the demo program. An amount is in minor units: 1000 is 10.00 USD.</p>
<div class="sides">${listing('Request', first)}
${listing('Response', JSON.stringify(created, null, 2))}</div>
<h2>Get your first error</h2>
<p>The same for a closed card. The code never changes, and <a href="/errors/${CLOSED}">its page</a> says what to do:</p>
<div class="sides">${listing('Request', refused)}
${listing('Response', JSON.stringify(exampleRecord(CLOSED, supportContact), null, 2))}</div>
<h2 id="cards">Demo cards</h2>
<p>Cards of the demo program, one for each case. The balances shown are for a new sandbox.</p>
<ul class="cards">${DEMO_CARDS.map(card)}</ul>`;
}

function card(one: DemoCard): Html {
  const { name, currency, balance, purpose, refuses } = one;
  return html`<li><div><code>${breakable(name)}</code>${copyButton(name, name)}</div>
<p>${purpose.slice(0, 1).toUpperCase()}${purpose.slice(1)}.${
    refuses !== undefined &&
    html` <code>${writtenJson({ card_id: name, ...refuses.body })}</code> returns <a href="/errors/${refuses.code}"><code>${breakable(refuses.code)}</code></a>.`
  }</p>
<p class="state">${shownStatus(one)}</p>
<p class="amount">${balance === MAXIMUM_BALANCE ? `the maximum, in ${currency}` : formatMoney(balance, currency)}</p></li>
`;
}

function live({ url, needsKey, supportContact }: PageContext): Html {
  const whoami = curlOf({ method: 'GET', path: OPERATIONS.get_session.path, headers: {} }, url, '', needsKey);
  return html`<p>This service runs in live mode: requests move real money and need a key.</p>
<h2>Check your key</h2>
<p>Set <code>TRANSFER_SERVICE_KEY</code> to your key. This request moves nothing, and returns who you are, your card program and what the key may do:</p>
${listing('Request', whoami)}
<p>Without a key: ask ${supportContact}. Operators create keys with <code>npx transfer-service keys create</code> or in the <a href="/console">console</a>: <a href="/guides/keys">API keys</a>.</p>
<h2>Check the service</h2>
<p>Neither request needs a key. The second responds with 503 while transfers cannot be committed, and says why:</p>
${listing('Requests', `curl -i ${url}/health/live\ncurl -i ${url}/health/ready`)}
<p>To try the API without moving money, run a sandbox on your own machine: <code>npx transfer-service start</code> in an empty folder.</p>`;
}
