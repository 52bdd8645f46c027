import { shownDatabaseUrl, withoutUrlCredentials } from '../url-credentials.ts';
import type { Configuration } from './configuration.ts';

/** The settings in force, one `NAME=value` a line, without passwords. */
export function showConfiguration(configuration: Configuration): string {
  return [
    `MODE=${configuration.mode}`,
    `HOST=${configuration.hosts.join(' ')}`,
    `PORT=${configuration.port}`,
    `DATABASE_URL=${configuration.databaseUrl === null ? '(embedded PostgreSQL)' : shownDatabaseUrl(configuration.databaseUrl)}`,
    `DATABASE_URL_FILE=${withoutUrlCredentials(configuration.databaseUrlFile ?? '')}`,
    `DATABASE_SCHEMA=${configuration.databaseSchema}`,
    `DATABASE_CONNECTIONS=${configuration.databaseConnections}`,
    `DATA_DIR=${withoutUrlCredentials(configuration.dataDirectory)}`,
    `BACKUP_DIR=${withoutUrlCredentials(configuration.backupDirectory ?? '')}`,
    `BACKUP_RETENTION_DAYS=${configuration.backupRetentionDays}`,
    `SUPPORT_CONTACT=${withoutUrlCredentials(configuration.supportContact)}`,
    `ERROR_RETENTION_DAYS=${configuration.errorRetentionDays}`,
    `EVENT_RETENTION_DAYS=${configuration.eventRetentionDays}`,
    `ERROR_COUNT_RETENTION_DAYS=${configuration.errorCountRetentionDays}`,
    `WEBHOOK_ATTEMPT_RETENTION_DAYS=${configuration.attemptRetentionDays}`,
    `REFUSED_KEY_RETENTION_DAYS=${configuration.refusedKeyRetentionDays}`,
    `RATE_LIMIT_PER_ADDRESS=${configuration.addressRatePerSecond}`,
    `RATE_LIMIT_PER_KEY=${configuration.keyRatePerSecond}`,
    `OVERLOAD_DELAY_MILLISECONDS=${configuration.overloadDelayMilliseconds}`,
    `TRUSTED_PROXIES=${configuration.trustedProxies}`,
    `PUBLIC_URL=${configuration.publicUrl ?? ''}`,
    `WEBHOOK_ALLOWED_NETWORKS=${configuration.webhookAllowedNetworks.join(',')}`,
    `WEBHOOK_CA=${configuration.webhookCa === null ? '' : withoutUrlCredentials(configuration.webhookCa.path)}`,
    `WEBHOOK_KEY=${configuration.webhookKeys === null ? '(in DATA_DIR)' : '(set)'}`,
    `WEBHOOK_KEY_FILE=${withoutUrlCredentials(configuration.webhookKeyFile ?? '')}`,
    `METRICS_PORT=${configuration.metricsPort ?? ''}`,
    `METRICS_HOST=${configuration.metricsHost}`,
    `LOG_LEVEL=${configuration.logLevel}`,
    `LOG_FORMAT=${configuration.logFormat}`,
    `REQUEST_LOG=${configuration.requestLog}`,
    `OTEL_EXPORTER_OTLP_ENDPOINT=${withoutUrlCredentials(configuration.traces?.endpoint ?? '')}`,
    `OTEL_EXPORTER_OTLP_HEADERS=${Object.keys(configuration.traces?.headers ?? {}).length === 0 ? '' : '(set)'}`,
    `OTEL_TRACES_SAMPLER_ARG=${configuration.traces?.ratio ?? ''}`,
    `OTEL_SERVICE_NAME=${withoutUrlCredentials(configuration.traces?.serviceName ?? '')}`,
  ].join('\n');
}
