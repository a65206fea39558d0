/** Escapes of JSON that Postgres reads differently: all but those of quotes and backslashes. Also matches some texts with backslashes. */
const otherEscape = /\\[^"\\]/;

const isScalar = (value: unknown): boolean =>
  value === null || value === undefined || typeof value === 'string' || typeof value === 'boolean' || Number.isFinite(value);

/**
 * Returns a list of texts, numbers, booleans and nulls as an array literal of Postgres. It is a JSON list in braces, apart from the
 * escapes of control characters. V8 serialises the whole list at once; the driver would escape each element with two regular
 * expressions, also numbers.
 * @returns the list itself, for the driver to convert, if it holds other values, control characters or some kinds of backslashes
 */
export function listParameter(values: readonly unknown[]): unknown {
  if (!values.every(isScalar)) return values;
  const json = JSON.stringify(values);
  return otherEscape.test(json) ? values : `{${json.slice(1, -1)}}`;
}
