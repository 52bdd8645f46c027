import { withoutSecrets } from '../../foundation/redaction.ts';

// Invariant: The stored part of an answer has no card numbers, keys or headers of the webhook
// Tested by: `server/background/delivery/redact-answer.test.ts`, `test/delivery/deliver.test.ts`

const REDACTED = '[redacted]';

/** Maximum number of characters of an answer that are stored. */
const MAX_LENGTH = 1_024;

/** A shorter value could be part of any text. */
const MIN_SECRET_LENGTH = 6;

/**
 * The part of an answer that is stored: without card numbers, keys and passwords, and without the headers of the webhook,
 * which a receiver may echo.
 */
export function redactAnswer(text: string, headers: Readonly<Record<string, string>>): string {
  let redacted = text;
  for (const value of Object.values(headers)) {
    // A token or password may be echoed without its scheme, such as Bearer.
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
