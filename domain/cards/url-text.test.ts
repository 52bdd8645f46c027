import { describe, expect, test } from 'vitest';
import { urlReadsAsCardNumber, withoutUrlEncoding } from './url-text.ts';

const NUMBER = '4532015112830366';
const everyDigit = [...NUMBER].map((digit) => `%3${digit}`).join('');

describe('a card number in a URL is found', () => {
  test.each([
    ['unencoded', `https://a.example/${NUMBER}`],
    ['in quotes', `https://a.example/?card=%22${NUMBER}%22`],
    ['with encoded spaces', 'https://a.example/4532%200151%201283%200366'],
    ['with a plus for each space', 'https://a.example/?card=4532+0151+1283+0366'],
    ['with encoded pluses', 'https://a.example/?card=4532%2B0151%2B1283%2B0366'],
    ['with encoded dashes', 'https://a.example/4532%2D0151%2d1283%2D0366'],
    ['with spaces that are encoded twice', 'https://a.example/4532%25200151%25201283%25200366'],
    ['with spaces that are encoded three times', 'https://a.example/4532%2525200151%2525201283%2525200366'],
    ['with encoded digits', `https://a.example/${everyDigit}`],
    ['with digits whose escapes are encoded', `https://a.example/${everyDigit.replaceAll('3', '%33')}`],
    ['with full-width digits', `https://a.example/${encodeURIComponent('４５３２０１５１１２８３０３６６')}`],
    ['next to invalid encodings', `https://a.example/%zz%ff%c3?a=%&card=%20${NUMBER}%e2%82`],
    ['in the host', 'https://%34532015112830366.example/'],
  ])('%s', (_, url) => expect(urlReadsAsCardNumber(url)).toBe(true));
});

test.each([
  'https://a.example/%22hook%22?a=1+1',
  // The last digit of this number fails the check.
  'https://a.example/4532%200151%201283%200367',
  'https://a.example/?phone=%2B4915112345674',
  'https://a.example/tr_0190f5c2d9a97c05b8e1647f2d3a9c40?x=100%25',
])('%s has no card number', (url) => expect(urlReadsAsCardNumber(url)).toBe(false));

test('keeps invalid encodings, even long ones, without delay', () => {
  expect(withoutUrlEncoding('100% of %zz, %c3%28')).toBe('100% of %zz, %c3(');
  expect(withoutUrlEncoding(`%${'25'.repeat(100_000)}34`)).toBe('4');
});
