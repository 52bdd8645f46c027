/**
 * Whether tests try all of their cases, as in `npm run verify`, which sets FAULTS=all. Otherwise, they try a selection.
 */
export const isThorough = process.env.FAULTS === 'all';
