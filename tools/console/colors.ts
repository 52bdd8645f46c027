// Writes the colors of the console's tokens and of the pages from the scales of @radix-ui/colors.
import * as scales from '@radix-ui/colors';

/** A color in a stylesheet, and the comment that names its step in both themes, or its step in each. */
const COLOR = /light-dark\([^()]*\)(;? \/\* ([a-z]+(?:-\d+)?)(?:, ([a-z]+(?:-\d+)?))? \*\/)/g;

const SCALES = new Map(Object.entries<object>(scales));

/**
 * Returns a stylesheet with its colors written from their comments.
 *
 * @throws {Error} if a comment names no step of a scale
 */
export function withColors(text: string): string {
  return text.replaceAll(COLOR, (_, comment: string, light: string, dark = light) => {
    return `light-dark(${colorOf(light, '')}, ${colorOf(dark, 'Dark')})${comment}`;
  });
}

function colorOf(step: string, theme: '' | 'Dark'): string {
  if (step === 'white') return '#ffffff';
  const [scale = '', number = ''] = step.split('-');
  const color: unknown = Object.entries(SCALES.get(`${scale}${theme}`) ?? {}).find(
    ([name]) => name === `${scale}${number}`,
  )?.[1];
  if (typeof color !== 'string') throw new Error(`@radix-ui/colors has no color ${step}`);
  return color;
}
