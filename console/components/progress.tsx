/** How far something is; without `value` it is not known how far. */
export function Progress({
  label,
  value,
  max = 1,
}: {
  readonly label: string;
  readonly value?: number | undefined;
  readonly max?: number;
}) {
  return (
    <div class="progress">
      <span>{label}</span>
      <progress aria-label={label} {...(value === undefined ? {} : { value, max })} />
    </div>
  );
}
