-- Needs: 0021
-- The attempts that a line settles, if it settles several. Null for other lines.
alter table settlement_line add column attempt_ids uuid[];
