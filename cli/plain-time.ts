const TIME = /^(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)(\.\d+)?Z$/;

/** Fields whose text is a time. */
const TIME_NAMES = /(^|_)(at|from|to|since|until|start|now|scheduled_for|restorable)$/;

/** A time of the API in words: `2026-01-31 09:30:00 UTC`. Other text stays as it is. */
export function plainTime(text: string): string {
  return text.replace(TIME, '$1 $2 UTC');
}

/** The text of a field: in words if the field is a time. Free-form content of callers stays unchanged. */
export function plainField(name: string, text: string): string {
  return TIME_NAMES.test(name) ? plainTime(text) : text;
}
