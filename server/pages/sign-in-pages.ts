import { ERRORS } from '../../contract/errors/catalogue.ts';
import type { ErrorRecord } from '../../contract/errors/record.ts';
import type { ErrorCode } from '../../contract/operations.ts';
import { html } from './page-html.ts';
import type { Page } from './page-layout.ts';

const COMMON = { section: 'console', data: undefined } as const;

/**
 * Returns the page that opens the console after a sign-in. It is a page and not a redirect, because browsers send no
 * SameSite=Strict cookie while they follow redirects from a different site.
 */
export function signedInPage(path: string): Page {
  return {
    ...COMMON,
    title: 'Signed in',
    description: 'You are signed in.',
    next: path,
    content: html`<h1>Signed in</h1>
<p class="lead"><a href="${path}">Open the console</a> if your browser does not do so.</p>`,
  };
}

export type ProgramLink = { readonly name: string; readonly path: string };

/** Returns the page where a person chooses the card program for the session. */
export function chooseProgramPage(programs: readonly ProgramLink[]): Page {
  return {
    ...COMMON,
    title: 'Choose a card program',
    description: 'Choose the card program for this session.',
    content: html`<h1>Choose a card program</h1>
<p class="lead">You have roles in several card programs. A session is for one of them.</p>
<ul>
${programs.map(({ name, path }) => html`<li><a href="${path}">${name}</a></li>\n`)}</ul>`,
  };
}

export function signedOutPage(): Page {
  return {
    ...COMMON,
    title: 'Signed out',
    description: 'You are signed out.',
    content: html`<h1>Signed out</h1>
<p class="lead">Your console session has ended.</p>
<p>You may still be signed in at your organization's identity provider.</p>
<p><a href="/console/sign-in">Sign in again</a></p>`,
  };
}

/** Returns the page that tells a person why the sign-in did not succeed. */
export function signInErrorPage({ Message, Code }: ErrorRecord, requestId: string, supportContact: string): Page {
  return {
    ...COMMON,
    title: 'Not signed in',
    description: 'The sign-in did not succeed.',
    content: html`<h1>You are not signed in</h1>
<p class="lead">${Message}</p>
<h2>What to do</h2>
<p>${ERRORS[Code as ErrorCode].resolution}</p>
<p><a href="/console/sign-in">Sign in again</a>, or <a href="/console">use an API key</a>. If neither works, ask ${supportContact}, and quote the request id.</p>
<p class="quiet">Error code <a href="/errors/${Code}">${Code}</a>, request ${requestId}.</p>`,
  };
}
