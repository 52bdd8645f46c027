/** Whether a test is to try all that it can: in `npm run verify`, which sets FAULTS=all. Elsewhere it tries enough of it. */
export const isThorough = process.env.FAULTS === 'all';
