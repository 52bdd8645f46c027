import { call, errorCode, load } from '../error.ts';
import { MAX_HEAD_BYTES } from '../reading/request-size.ts';

const CREATE = call('create_transfer');

/** Errors of the HTTP request or of the whole service, before an operation begins. */
export const HTTP_ERRORS = {
  rate_limited: errorCode({
    status: 429,
    retryable: true,
    problem: 'Too many requests',
    meaning: 'Too many requests were sent from this address or with this API key.',
    causes: [
      'Requests from one address, or with one key, exceed the rate in the RateLimit-Policy header.',
      'The address sent invalid API keys. Each of them counts as ten requests.',
      'The address requested pages. A page counts as ten requests, a page that contains the host of the request as thirty, and a search of the errors as fifty.',
      'The key sent large bodies or batches. Each 1,024 bytes of a body, and each row of a batch after the first, count as one more request.',
      'The card program already has 20 exports in progress.',
      'The card program already has 10 open streams of events, or 100 requests that are waiting for events.',
    ],
    resolution: 'Wait for the number of seconds in the Retry-After header, then send the request again.',
    support: {
      tell: 'You send too many requests. Wait for the time in the Retry-After header, then send fewer.',
      next: 'Wait: no other customer is affected. If the customer needs a higher rate, ask an operator about the rate limits.',
    },
    headers: [{ name: 'Retry-After', value: '1', description: 'Seconds to wait before the next request.' }],
    alsoCalled:
      'rate limit, rate limiting, too many requests, throttled, throttling, slow down, quota exceeded, requests ' +
      'per second, too many connections, too many calls',
    sample: {
      reproduce: 'Start the sandbox with RATE_LIMIT_PER_ADDRESS=1, then send twenty requests at once.',
      given: 'a rate limit of one request per second',
      request: call('list_transfers'),
      message: 'This address sent more than 10 requests in 10 seconds. Retry in 1 second.',
    },
  }),
  route_not_found: errorCode({
    status: 404,
    problem: 'The URL',
    meaning: 'There is no route at this path.',
    causes: ['The path is misspelled.', 'The path names an API version that this service does not have.'],
    resolution: 'Compare the path with the API reference at /docs.',
    alsoCalled:
      'wrong url, wrong path, unknown url, unknown path, endpoint not found, no such endpoint, page not found, ' +
      'not found, wrong api version, url does not exist',
    sample: {
      reproduce: 'Send GET /api/v0.1/core/nothing.',
      request: { method: 'GET', path: '/api/v0.1/core/nothing', headers: {} },
      message: 'There is no route at this path. See the API reference at /docs.',
    },
  }),
  method_not_allowed: errorCode({
    status: 405,
    problem: 'The URL',
    meaning: 'The path does not support this method.',
    causes: ['The request has the wrong method, such as GET for an operation that requires POST.'],
    resolution: 'Use one of the methods in the Allow header.',
    headers: [{ name: 'Allow', value: 'GET, HEAD, POST', description: 'The methods that this path supports.' }],
    alsoCalled:
      'wrong method, wrong http method, get instead of post, http verb, cannot post, cannot get, cannot delete',
    sample: {
      reproduce: `Send DELETE ${CREATE.path}.`,
      request: { ...CREATE, operation: undefined, method: 'DELETE' },
      message: 'This path supports only GET, HEAD, POST.',
    },
  }),
  malformed_request: errorCode({
    status: 400,
    problem: 'It is not valid JSON or HTTP',
    meaning: 'The request is not valid HTTP, so the service could not determine its operation.',
    causes: [
      'The connection does not carry HTTP/1.1, for example because TLS or HTTP/2 was sent to a plain HTTP port.',
      'A header is invalid, or was sent twice although it may occur only once.',
      'The path contains an invalid percent escape.',
    ],
    resolution: 'Fix the client, or the proxy in front of it. A maintained HTTP library does not send such requests.',
    alsoCalled:
      'invalid http, bad http request, https on http port, tls on http port, ssl error, wrong version number, ' +
      'http2, invalid header, duplicate header, missing host header, protocol error, percent encoding',
    sample: {
      reproduce: `Send GET ${CREATE.path}/%zz.`,
      request: { ...call('get_transfer', { params: { transfer_id: '%zz' } }), operation: undefined },
      message: "The path contains a '%' that is not part of a valid UTF-8 escape.",
    },
  }),
  unsupported_media_type: errorCode({
    status: 415,
    problem: 'It is not valid JSON or HTTP',
    meaning: 'The body is not uncompressed JSON in UTF-8.',
    causes: ['The Content-Type is not application/json.', 'The charset is not UTF-8.', 'The body is compressed.'],
    resolution: 'Send the body uncompressed, with the header Content-Type: application/json.',
    headers: [{ name: 'Accept', value: 'application/json', description: 'The accepted media type.', constant: true }],
    alsoCalled:
      'wrong content type, missing content type, content-type, form data, form encoded, multipart, xml, gzip ' +
      'body, compressed body, wrong charset, wrong encoding',
    sample: {
      reproduce: 'Create a transfer with the header Content-Type: text/xml.',
      request: load({}, { 'Content-Type': 'text/xml' }),
      message: "The Content-Type must be 'application/json'.",
    },
  }),
  payload_too_large: errorCode({
    status: 413,
    problem: 'It is too large',
    meaning: 'The body is larger than the operation accepts.',
    causes: [
      'The body exceeds the limit in the message. No valid body of the operation is larger. For a batch, the limit is 4,096 bytes for each of its 1,000 rows.',
    ],
    resolution: 'Send a smaller body, or the rows of a batch in several batches.',
    alsoCalled: 'body too large, request too large, request too big, entity too large, too many bytes, batch too large',
    sample: {
      reproduce: 'Capture a transfer with a body of 20,000 bytes.',
      request: call('capture_transfer', { body: '0'.repeat(20_000), headers: { 'Content-Type': 'application/json' } }),
      message: 'The body has more than 17408 bytes.',
      shell: `curl -i {base}${call('capture_transfer').path} -H 'Content-Type: application/json' -d "$(printf '%020000d' 0)"`,
    },
  }),
  uri_too_long: errorCode({
    status: 414,
    problem: 'It is too large',
    meaning: 'A segment of the path is longer than any id.',
    causes: ['An id in the path has more than 255 characters.'],
    resolution: 'Send the id exactly as the service returned it.',
    alsoCalled: 'url too long, path too long, id too long',
    sample: {
      reproduce: 'Read a transfer with an id of 300 characters.',
      request: call('get_transfer', { params: { transfer_id: '0'.repeat(300) } }),
      message: 'A segment of the path is longer than 255 characters.',
      shell: `curl -i "{base}${CREATE.path}/$(printf '%0300d' 0)"`,
    },
  }),
  headers_too_large: errorCode({
    status: 431,
    problem: 'It is too large',
    meaning: 'The headers of the request are too large.',
    causes: [
      `The request line and the headers exceed ${MAX_HEAD_BYTES / 1024} KiB.`,
      'The request has more than 100 headers.',
    ],
    resolution: 'Send fewer or smaller headers. The service needs no cookies.',
    alsoCalled: 'header too large, headers too long, too many headers, cookies too large, big cookies',
    sample: {
      reproduce: `Send a header of ${MAX_HEAD_BYTES / 1024} KiB.`,
      request: {
        ...call('list_transfers', { headers: { Padding: '0'.repeat(MAX_HEAD_BYTES) } }),
        operation: undefined,
      },
      message: 'The request line and the headers are too large.',
      shell: `curl -i {base}${CREATE.path} -H "Padding: $(printf '%0${MAX_HEAD_BYTES}d' 0)"`,
    },
  }),
  request_timeout: errorCode({
    status: 408,
    retryable: true,
    problem: 'Timeout, no response, or status 500',
    meaning: 'The request did not arrive in time.',
    causes: [
      'The headers took more than 10 seconds to arrive, or the whole request more than 15.',
      'The connection was interrupted while the request was being sent.',
    ],
    resolution: 'Send the whole request again. With the same Idempotency-Key this is always safe.',
    alsoCalled:
      'timeout, timed out, time out, request timed out, slow upload, slow connection, connection interrupted, ' +
      'took too long',
    sample: {
      reproduce: 'Send a Content-Length that is larger than the body.',
      given: 'a body that does not arrive',
      request: call('create_transfer', { body: '{', headers: { 'Content-Length': '100' } }),
      message: 'The request did not arrive in time.',
      shell: `curl -i {base}${CREATE.path} -H 'Content-Length: 100' -d '{'`,
    },
  }),
  expectation_failed: errorCode({
    status: 417,
    problem: 'It is not valid JSON or HTTP',
    meaning: 'The service does not support the value of the Expect header.',
    causes: ['The Expect header has a value other than 100-continue.'],
    resolution: 'Omit the Expect header.',
    alsoCalled: 'expect header, 100-continue',
    sample: {
      reproduce: 'Send the header Expect: something.',
      request: call('list_transfers', { headers: { Expect: 'something' } }),
      message: "The Expect header can only be '100-continue'. Omit it.",
    },
  }),
  service_unavailable: errorCode({
    status: 503,
    type: 'Server Error',
    problem: 'The service is down or overloaded',
    meaning: 'The service cannot accept the request at the moment and has not started to process it.',
    causes: [
      'The service is starting or shutting down.',
      'More requests are waiting than the service can process in time.',
      'A transaction that does not end holds the lock of the account.',
      'The database responds, but has no free connection for the request.',
      'The trial balance could not be computed in time. The message says what to do if it happens again.',
      'The service requires a synchronous standby for its database, but none is configured (DATABASE_STANDBY).',
    ],
    resolution:
      'Send the request again after the time in the Retry-After header. Contact support if the error persists.',
    support: {
      tell: 'The service could not accept the request. Please send it again in a minute, with the same idempotency key.',
      next: 'Wait a minute. If it continues, or affects more customers, escalate to the operators.',
    },
    headers: [
      { name: 'Retry-After', value: '1', description: 'Seconds to wait before the next try.' },
      {
        name: 'Readiness',
        value: 'service_closing',
        description: "The stable name of the service's state, if that is the reason.",
        optional: true,
      },
      {
        name: 'Runbook',
        value: 'docs/runbook/service-closing.md',
        description: 'The page of the runbook about that state. For operators.',
        optional: true,
      },
    ],
    alsoCalled:
      'connection refused, cannot connect, bad gateway, gateway timeout, 502, 504, down, service down, is it down, outage, offline, unavailable, overloaded, overload, busy, restarting, ' +
      'shutting down, starting up, not ready, try again later, connection pool exhausted, not reachable',
    sample: {
      reproduce: 'Send SIGTERM to the service, and continue to send requests on open connections for a second.',
      given: 'a shutdown',
      request: load(),
      message: 'The service is closing.',
    },
  }),
  unknown_request: errorCode({
    status: 500,
    type: 'Server Error',
    problem: 'A page cannot be shown',
    meaning: 'A page could not be shown because of an internal error. The request was not for an operation.',
    causes: ['A file of the service is missing or unreadable.', 'The service has a bug.'],
    resolution: 'Contact support: open a case and quote the request id in its text.',
    support: {
      tell: 'The page could not be shown. Please reload it.',
      next: 'Escalate to the operators with the request id if it happens again.',
    },
    alsoCalled: 'page broken, page does not load, page error, docs page fails',
    sample: {
      reproduce: 'Send GET / with the header Sandbox-Provoke: unknown_request.',
      request: { method: 'GET', path: '/', headers: { 'Sandbox-Provoke': 'unknown_request' } },
      message: 'The request could not be processed.',
    },
  }),
};
