import { expect, test } from 'vitest';
import { shownDatabaseUrl } from './url-credentials.ts';

test.each([
  [
    'postgresql://u:geheim@h1:5432,h2,[::1]:5433/db?sslmode=verify-full',
    'postgresql://u:***@h1:5432,h2,[::1]:5433/db?sslmode=verify-full',
  ],
  [
    'postgresql://u@h1,h2/db?target_session_attrs=read-write&password=geheim',
    'postgresql://u@h1,h2/db?target_session_attrs=read-write&password=***',
  ],
  [
    'postgresql://u:geheim@/db?host=/run/one,h2&port=5432,5433',
    'postgresql://u:***@/db?host=/run/one,h2&port=5432,5433',
  ],
])('shows %s without the password', (url, shown) => {
  expect(shownDatabaseUrl(url)).toBe(shown);
});

test.each([
  'postgresql://u:geheim,/more@h1,h2/db',
  'postgresql://u:ge,heim@x@h1,h2/db',
  'postgresql://h1,u:geheim@h2/db',
])('does not show %s', (url) => {
  expect(shownDatabaseUrl(url)).not.toMatch(/ge|heim/);
});
