/** What a span is: work of a caller's request, or of the service itself (OTLP, SpanKind). */
export const KIND = { internal: 1, server: 2 } as const;

/** An attribute's value. */
export type AttributeValue = string | number;

/** Something that took some time, as a collector gets it. Ids are hex digits, times milliseconds since 1970. */
export type Span = {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | undefined;
  readonly name: string;
  readonly kind: (typeof KIND)[keyof typeof KIND];
  readonly begin: number;
  readonly end: number;
  readonly attributes: Readonly<Record<string, AttributeValue | undefined>>;
  readonly links: readonly SpanName[];
  readonly isError: boolean;
};

/** What names a span. */
export type SpanName = { readonly traceId: string; readonly spanId: string };

/** The body of a request to a collector: OTLP 1 as JSON (opentelemetry.io/docs/specs/otlp, "JSON Protobuf encoding"). */
export function toOtlp(spans: readonly Span[], serviceName: string, version: string): string {
  const resource = { attributes: toAttributes({ 'service.name': serviceName, 'service.version': version }) };
  const scope = { name: 'transfer-service', version };
  return JSON.stringify({ resourceSpans: [{ resource, scopeSpans: [{ scope, spans: spans.map(toOtlpSpan) }] }] });
}

function toOtlpSpan({ begin, end, attributes, links, isError, ...span }: Span): object {
  return {
    ...span,
    startTimeUnixNano: toNanoseconds(begin),
    endTimeUnixNano: toNanoseconds(end),
    attributes: toAttributes(attributes),
    links,
    status: isError ? { code: 2 } : {},
  };
}

/** A microsecond is as much as a number of this size can tell. */
function toNanoseconds(milliseconds: number): string {
  return `${Math.round(milliseconds * 1_000)}000`;
}

function toAttributes(attributes: Span['attributes']): readonly object[] {
  return Object.entries(attributes).flatMap(([key, value]) => {
    if (value === undefined) return [];
    // A whole number of 64 bits is text in JSON.
    return [{ key, value: typeof value === 'number' ? { intValue: String(value) } : { stringValue: value } }];
  });
}
