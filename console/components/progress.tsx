/** A progress bar; indeterminate without `value`. */
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
