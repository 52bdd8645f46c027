import { curlOf, exampleOf } from '../../contract/examples.ts';
import { html } from './page-html.ts';
import { listing, type Page, type PageContext } from './page-layout.ts';

/** The page at the root of the service. */
export function homePage({ base, mode }: PageContext): Page {
  const first = curlOf({ ...exampleOf('create_transfer'), headers: {} }, base);
  return {
    title: 'Welcome',
    section: 'home',
    description: 'Move money to, from and between cards. Every error explains its cause.',
    data: undefined,
    content: html`<h1>Transfer Service</h1>
<p class="lead">Move money to, from and between cards. Every error explains its cause.</p>
${
  mode === 'sandbox' &&
  html`<h2>Create your first transfer</h2>
<p>This request loads 10.00 USD onto a card of the demo program:</p>
${listing('Request', first)}`
}
<h2>Next steps</h2>
<dl class="says">
<div><dt><a href="/console">Console</a></dt><dd>Find out what happened to a request, a transfer or a card; watch the service, stop it, fund it.</dd></div>
<div><dt><a href="/docs">API reference</a></dt><dd>All operations with their fields, examples and errors. For tools, see the OpenAPI document at <a href="/openapi.json">/openapi.json</a>.</dd></div>
<div><dt><a href="/events">Events</a></dt><dd>All types of events: when each is sent, what it contains, and how to cause it in the sandbox.</dd></div>
<div><dt><a href="/errors">Errors</a></dt><dd>All error codes: what each one means, how to resolve it, and whether money moved.</dd></div>
<div><dt><a href="/health/ready">Health</a></dt><dd>Whether the service can commit transfers.</dd></div>
</dl>`,
  };
}
