// What the service refuses although JSON Schema cannot say it: how a value relates to the present, to what is stored, or to another
// value. Everything else that the document allows must be accepted, so that a limit that is narrower than the document is found.

/** A refusal: the field that `Error-Field` names, and what the message says. */
type Refusal = { readonly field: RegExp; readonly says: RegExp };

export const REFUSED_BEYOND_SCHEMA: readonly Refusal[] = [
  // Times and the present.
  {
    field: /\/(expires_at|scheduled_for|previous_until|until)$/,
    says: /not in the future|must be in the future|within a year|a hold lasts at most|must not be after|later than/,
  },
  { field: /\/started_at$/, says: /must not be in the future/ },
  // Two values.
  { field: /(^|\/|_)(from|to)$/, says: /must be (later|earlier) than|more than 1000 intervals apart/ },
  { field: /(maximum|minimum)_amount$/, says: /which is less than|a minimum that is not above the maximum/ },
  { field: /\/type$/, says: /but with 'connector_id' it must be/ },
  { field: /\/program_id$/, says: /is one transfer type of a card program/ },
  { field: /\/destination_card_id$/, says: /must be a different card than/ },
  // What is stored.
  { field: /\/after$/, says: /but the last event has|but the last entry/ },
  { field: /\/(metadata|headers)$/, says: /can have \d+ (pairs|headers)/ },
  { field: /\/key_id$/, says: /was rolled before|was revoked|has expired/ },
  { field: /\/action$/, says: /the audit log has only/ },
  { field: /\/headers$/, says: /which the service sets itself/ },
  // A list in one parameter, separated by commas.
  { field: /\/type$/, says: /neither a type of event nor a group of types/ },
  { field: /\/until$/, says: /can only be sent with/ },
  // A header of the sandbox, which depends on the card.
  { field: /^$/, says: /is for a transfer that is sent at once|can be used only in a sandbox/ },
];
