import { curlOf, exampleOf } from '../../contract/examples.ts';
import { html } from './page-html.ts';
import { listing, type Page, type PageSetting } from './page-layout.ts';

/** What somebody sees who opens the address of the service in a browser. */
export function homePage({ base, mode }: PageSetting): Page {
  const first = curlOf({ ...exampleOf('create_transfer'), headers: {} }, base);
  return {
    title: 'Welcome',
    section: 'home',
    description: 'Moves money to, from and between cards, and explains every failure.',
    data: undefined,
    content: html`<h1>Transfer Service</h1>
<p class="lead">Moves money to, from and between cards, and explains every failure.</p>
${
  mode === 'sandbox' &&
  html`<h2>A first transfer</h2>
<p>This loads ten dollars onto a card of the demo program:</p>
${listing('In a terminal', first)}`
}
<h2>From here</h2>
<dl class="says">
<div><dt><a href="/docs">API reference</a></dt><dd>Every operation, its fields and its errors; as a document for tools: <a href="/openapi.json">/openapi.json</a>.</dd></div>
<div><dt><a href="/errors">Errors</a></dt><dd>Every error code: what it means, who resolves it, and whether money moved.</dd></div>
<div><dt><a href="/health/ready">Health</a></dt><dd>Whether the service and its database answer.</dd></div>
</dl>`,
  };
}
