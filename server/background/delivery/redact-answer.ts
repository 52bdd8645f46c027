import { withoutSecrets } from '../../foundation/redaction.ts';

// Invariant: What is kept of an answer has no card numbers, keys or headers of the webhook
// Tested by: `server/background/delivery/redact-answer.test.ts`, `test/delivery/deliver.test.ts`

const REDACTED = '[redacted]';

/** Characters that are kept of an answer. */
const MAX_LENGTH = 1_024;

/** A shorter value could be part of any text. */
const MIN_SECRET_LENGTH = 6;

/**
 * What a receiver has answered, as it is kept: without card numbers, keys and passwords, and without the headers of the
 * webhook, which a receiver may send back.
 */
export function redactAnswer(text: string, headers: Readonly<Record<string, string>>): string {
  let redacted = text;
  for (const value of Object.values(headers)) {
    // A bearer token or password may come back without the word before it.
    for (const secret of new Set([value, value.slice(value.indexOf(' ') + 1)])) {
      if (secret.length < MIN_SECRET_LENGTH) continue;
      redacted = redacted.replaceAll(secret, REDACTED);
      redacted = withoutStartAtEnd(redacted, secret);
    }
  }
  return withoutSecrets(redacted, MAX_LENGTH);
}

/** The text without the beginning of a secret that was cut off at its end. */
function withoutStartAtEnd(text: string, secret: string): string {
  for (let length = secret.length - 1; length >= MIN_SECRET_LENGTH; length -= 1) {
    if (text.endsWith(secret.slice(0, length))) return text.slice(0, -length) + REDACTED;
  }
  return text;
}
