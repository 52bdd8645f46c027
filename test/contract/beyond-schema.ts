// The refusals that JSON Schema cannot express, because they compare a value with the current time, with stored records, or with
// a second value. The service must accept everything else that the document allows. This way, the test finds limits that are
// narrower than documented.

/** A refusal: the field in `Error-Field`, and the message. */
type Refusal = { readonly field: RegExp; readonly says: RegExp };

export const REFUSED_BEYOND_SCHEMA: readonly Refusal[] = [
  // Comparisons with the current time.
  {
    field: /\/(expires_at|scheduled_for|previous_until|until)$/,
    says: /not in the future|must be in the future|within a year|a hold lasts at most|must not be after|later than/,
  },
  { field: /\/as_of$/, says: /less than 60 seconds ago or in the future/ },
  { field: /\/day$/, says: /Send an earlier day|can be closed from/ },
  { field: /\/started_at$/, says: /must not be in the future/ },
  // Comparisons of two values.
  { field: /(^|\/|_)(from|to)$/, says: /must be (later|earlier) than|more than 1000 intervals apart/ },
  { field: /(maximum|minimum)_amount$/, says: /which is less than|a minimum that is not above the maximum/ },
  { field: /\/type$/, says: /but with 'connector_id' it must be/ },
  { field: /\/destination_card_id$/, says: /must be a different card than/ },
  // Comparisons with stored records.
  { field: /\/after$/, says: /but (the last (event has|entry)|there are no events yet)/ },
  { field: /\/(metadata|headers)$/, says: /can have \d+ (pairs|headers)/ },
  { field: /\/key_id$/, says: /was rolled before|was revoked|has expired/ },
  { field: /\/headers$/, says: /which the service sets itself/ },
  // A parameter that is a comma-separated list.
  { field: /\/type$/, says: /neither a type of event nor a group of types/ },
  { field: /\/until$/, says: /can only be sent with/ },
  // A sandbox header whose use depends on the card.
  { field: /^$/, says: /is for a transfer that is sent at once|can be used only in a sandbox/ },
];
