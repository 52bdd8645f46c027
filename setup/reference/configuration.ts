import { SETTINGS } from '../../server/config.ts';
import { inCell, page, table } from './markdown.ts';

/** docs/reference/configuration.md: every setting of the environment. */
export function configurationReference(): string {
  return page(
    '# Configuration',
    'The service reads its settings from the environment when it starts, and says which one is wrong when it does not. ' +
      '`npx transfer-service config` prints those of each service that runs with the same `DATA_DIR`, without passwords; where none runs it says so and prints those of its own shell.',
    table(
      ['Setting', 'Default', 'What it is for'],
      SETTINGS.map(({ name, fallback, purpose }) => [
        `\`${name}\``,
        fallback === '' ? 'not set' : `\`${fallback}\``,
        inCell(purpose),
      ]),
    ),
  );
}
