import type { ErrorType } from '../../../contract/errors/record.ts';

/** The CSS class of each type, which sets its colour. */
export const TONES: Readonly<Record<ErrorType, string>> = {
  'Request Error': 'request',
  'Server Error': 'server',
  'Process Error': 'process',
};

/** A symbol for each type, so that no information is conveyed by colour alone. */
export const SIGNS: Readonly<Record<ErrorType, string>> = {
  'Request Error': '◆',
  'Server Error': '■',
  'Process Error': '●',
};
