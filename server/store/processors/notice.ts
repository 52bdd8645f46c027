import { json, nullable, statement, TEXT, UUID } from '../sql.ts';
import type { NoticeBody } from './waiting-notices.ts';

// Invariant: A notice has one effect, however often it is sent, and is stored before it is acknowledged
// Kept by: the primary key of `processor_notice`; `server/subjects/processors/receive-notice.ts`
// Tested by: `test/api/processors/notices.test.ts`

/** Stores a notice, unless it was stored before. `attemptId` is null if the connector has no such attempt. Returns a row if it is new. */
export const insertNotice = statement(
  'insert_notice',
  {
    connectorId: TEXT,
    noticeId: TEXT,
    sentAttemptId: nullable(UUID),
    body: json<NoticeBody>(),
  },
  `insert into processor_notice (connector_id, notice_id, program_id, attempt_id, body, received_at)
    select :connectorId, :noticeId, processor_attempt.program_id, processor_attempt.attempt_id, :body, service_now()
    from (select) as always left join processor_attempt
      on processor_attempt.attempt_id = :sentAttemptId and processor_attempt.connector_id = :connectorId
    on conflict (connector_id, notice_id) do nothing
    returning notice_id`,
);
