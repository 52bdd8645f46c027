import { type Configuration, readConfiguration } from './configuration/configuration.ts';
import { endOnCrash } from './crash.ts';
import { chooseLogFormat, openLog, STANDARD_ERROR } from './log/log.ts';
import { openDatabase } from './open-database.ts';
import { withoutSecrets } from './redaction.ts';
import { runbookLine } from './runbook.ts';
import { bannerOf } from './start/banner.ts';
import { Lifecycle } from './start/lifecycle.ts';
import { requireFreePort } from './start/listen.ts';
import { stopOnSignal } from './start/stop-on-signal.ts';
import { StartupProblem } from './startup-problem.ts';
import { explainStartFailure } from './store/connection/start-failure.ts';

const say = (line: string): void => void process.stdout.write(`${line}\n`);

endOnCrash(() => STANDARD_ERROR.flush());
/** Stops what has been started so far. */
let stop = async (): Promise<void> => undefined;
const lifecycle = new Lifecycle(STANDARD_ERROR);
const signals = stopOnSignal((signal) => lifecycle.stop(signal, () => stop()));
try {
  await start(readConfiguration());
} catch (error) {
  // A signal during the start: the failure is a consequence of stopping.
  if (signals.isStopping) await new Promise(() => undefined);
  const problem = explainStartFailure(error);
  if (!(problem instanceof StartupProblem)) throw problem;
  process.stderr.write(
    `\nThe service cannot start: ${withoutSecrets(problem.message)}\n${runbookLine(problem.page)}\n`,
  );
  process.exitCode = 1;
}

async function start(configuration: Configuration): Promise<void> {
  chooseLogFormat(configuration.logFormat);
  const log = openLog(configuration.logLevel);
  say(`Transfer Service, ${configuration.mode} mode, process ${process.pid}`);
  await requireFreePort(configuration);
  const opening = openDatabase(configuration, {
    onProgress: say,
    onServerExit: (description) => log.error({ event: 'database_server_exit' }, description),
    onWarning: (sentence) => log.warn({ event: 'few_connections' }, sentence),
  });
  stop = async () => (await opening).close();
  const opened = await opening;
  try {
    // Loaded late, because a start that is refused needs none of it; and not while the database is opened, because nothing
    // else happens meanwhile and a connection would time out on a busy machine.
    const { runService } = await import('./service.ts');
    const service = await runService(configuration, opened, log, (about) => lifecycle.start(log, about));
    stop = service.stop;
    lifecycle.ready(service.port);
    say(bannerOf(configuration, opened.embedded?.dataDirectory, service));
  } catch (error) {
    await opened.close();
    throw error;
  }
}
