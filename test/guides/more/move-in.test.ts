import { followGuide } from '../guide-trial.ts';

/** The move-ins that the guide undoes at its end, as `move-in list` shows them. */
const UNDONE: readonly (readonly [note: string, row: RegExp])[] = [
  ['Delta of Sunday', /(mvi_[0-9a-f]{32}).* sunday\.csv \(delta\) +moved/g],
  ['Cards of Friday', /(mvi_[0-9a-f]{32}).* friday\.csv +moved/g],
];

followGuide('move-in', {
  fails: /move-in (check wrong|compare sunday)\.csv/,
  fillIn: (command, output) => {
    const [, row] = UNDONE.find(([note]) => command.includes(note)) ?? [];
    const moveInId = row === undefined ? undefined : [...output.matchAll(row)].at(-1)?.[1];
    return moveInId === undefined ? command : command.replace('mvi_…', moveInId);
  },
});
