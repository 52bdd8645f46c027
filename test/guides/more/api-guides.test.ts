import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { useOwnService } from '../../harness/service.ts';
import { GUIDES_BY_MEMBER, type GuideStep, readGuide } from '../guide-reader.ts';

const TIME = /"20\d\d-\d\d-\d\dT[0-9:.]+Z"/g;
const TIME_IN_TEXT = /20\d\d-\d\d-\d\dT[0-9:.]+Z/g;

/** Matches a field of a response with its complete value. A value that the guide shortens cannot be compared. */
const MEMBER = /"([A-Za-z_]+)":("[^"…]*"|-?\d+|true|false|null)/g;

/** The longest wait for work that is due, in milliseconds. Usually, such work is done within about a second. */
const PATIENCE = 120_000;

describe.each(GUIDES_BY_MEMBER)('docs/%s.md', (name) => {
  const text = readFileSync(join(import.meta.dirname, '..', '..', '..', 'docs', `${name}.md`), 'utf8');
  const steps = readGuide(text);
  /** Maps the ids in the guide to the ids of this run. */
  const ids = new Map<string, string>();
  const service = useOwnService('Its guides assume a new sandbox.');

  /** Sends a command to this run's service, with this run's ids and a future date. */
  async function send({ method, url, headers: own, body, shown }: GuideStep): Promise<string> {
    const withIds = (words: string) => words.replaceAll(/tr_[0-9a-f]+…/g, (id) => ids.get(id) ?? id);
    const soon = new Date(Date.now() + 86_400_000).toISOString();
    const address = withIds(url).replace('http://localhost:8080', service().url);
    const sent = body?.replace(/("scheduled_for": )"[^"]*"/, `$1"${soon}"`);
    // curl sends a body as a form by default.
    const headers = sent === undefined ? {} : { 'Content-Type': 'application/x-www-form-urlencoded' };
    const answer = await fetch(address, {
      method,
      headers: { ...headers, ...own },
      ...(sent === undefined ? {} : { body: withIds(sent) }),
    });
    return answer.headers.get('content-type') === 'text/event-stream' ? beginningOf(answer, shown) : answer.text();
  }

  /** Reads a stream until its text contains everything that the guide shows. */
  async function beginningOf({ body }: Response, shown: string): Promise<string> {
    const decoder = new TextDecoder();
    const lines = shown.split('\n').filter((line) => /^(retry|id|event): /.test(line));
    expect(lines.length).toBeGreaterThan(0);
    let text = '';
    for await (const chunk of body ?? []) {
      text += decoder.decode(chunk, { stream: true });
      if (lines.every((line) => text.includes(`${line}\n`)) && missingIn(text, shown).length === 0) break;
    }
    return text;
  }

  /** Returns the fields that the guide shows but the response lacks. */
  function missingIn(answer: string, shown: string): readonly string[] {
    const plain = answer.replaceAll(TIME, '"a time"').replaceAll(TIME_IN_TEXT, 'a time');
    const expected = shown.replaceAll(/\n\s+/g, ' ').replaceAll(TIME, '"a time"').replaceAll(TIME_IN_TEXT, 'a time');
    return [...expected.matchAll(MEMBER)].map(([member]) => member).filter((member) => !plain.includes(member));
  }

  it.each(steps.map((step) => [step.line, step] as const))('line %i gets the response shown', async (_line, step) => {
    const until = Date.now() + (step.method === 'GET' ? PATIENCE : 0);
    let answer = await send(step);
    while (missingIn(answer, step.shown).length > 0 && Date.now() < until) {
      await pause(100);
      answer = await send(step);
    }
    expect(missingIn(answer, step.shown), answer).toEqual([]);
    expect(answer.startsWith('{"Message"'), answer).toBe(step.shown.startsWith('{"Message"'));
    const [shownId] = /tr_[0-9a-f]+…/.exec(step.shown) ?? [];
    const [id] = /tr_[0-9a-f]{32}/.exec(answer) ?? [];
    if (shownId !== undefined && id !== undefined) ids.set(shownId, id);
  });
});
