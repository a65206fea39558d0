/** The row of a statement that always yields one. */
export function onlyRow<Row>(rows: readonly Row[]): Row {
  const [row] = rows;
  if (row === undefined || rows.length > 1) throw new Error(`one row was expected, ${rows.length} came`);
  return row;
}
