import { ROUTES, type Route } from '../../../console/app/routes.ts';
import type { World } from '../harness/sample-world.ts';

/** All screens of the console. The tests in this folder run for each of them, so a new screen needs no test here. */
export const SCREENS: readonly Route[] = ROUTES;

/** Returns the address of a screen that shows a record of the sample world. */
export function addressOf({ path }: Pick<Route, 'path'>, world: World): string {
  const values: Readonly<Record<string, string>> = world;
  const filled = path.replaceAll(/:([a-z_]+)/g, (_, name: string) => {
    const value = values[name];
    if (value === undefined) throw new Error(`the world of the tests has no ${name} for ${path}`);
    return encodeURIComponent(value);
  });
  return `${filled}?program=${world.program_id}`;
}
