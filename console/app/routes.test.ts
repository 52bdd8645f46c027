import { expect, test } from 'vitest';
import { findCommands } from '../screens/search/commands.ts';
import { findRoute, ROUTES } from './routes.ts';

test('finds the screen of a path, and decodes its parameters', () => {
  const found = (path: string) => {
    const { route, parameters } = findRoute(path) ?? {};
    return [route?.title, parameters];
  };
  expect(found('/console')).toEqual(['Overview', {}]);
  expect(found('/console/card/my%20card%2F1')).toEqual(['Card', { card_id: 'my card/1' }]);
  expect(found('/console/card/100%')).toEqual(['Card', { card_id: '100%' }]);
  expect(found('/console/programs/prog_1')).toEqual(['Program', { program_id: 'prog_1' }]);
  for (const path of ['/console/card', '/console/card/', '/console/nothing', '/errors', '/console/card/1/2']) {
    expect(findRoute(path), path).toBeUndefined();
  }
});

test('gives all screens distinct paths and letters, and each screen without parameters a group', () => {
  const paths = ROUTES.map(({ path }) => path);
  const letters = ROUTES.flatMap(({ letter }) => letter ?? []);
  expect(new Set(paths).size).toBe(paths.length);
  expect(new Set(letters).size).toBe(letters.length);
  for (const { path, group } of ROUTES) expect(group === undefined, path).toBe(path.includes(':'));
});

test('gives every screen and every action of the search a path that opens a screen', () => {
  const reach = { screens: ROUTES, can: () => true, programId: 'prog_1' };
  const actions = findCommands('', reach);
  const screens = ROUTES.filter(({ group }) => group !== undefined).map(({ title }) => findCommands(title, reach));
  expect(actions.length).toBeGreaterThan(10);
  for (const { path } of [actions, ...screens].flat()) expect(findRoute(path.split('?')[0] ?? ''), path).toBeDefined();
  for (const found of screens) expect(found.length).toBeGreaterThan(0);
});
