import pg from 'pg';

/** An error as the server reports it. */
export function databaseError(sqlState: string, message: string): pg.DatabaseError {
  const error = new pg.DatabaseError(message, message.length, 'error');
  error.code = sqlState;
  error.severity = 'ERROR';
  return error;
}
