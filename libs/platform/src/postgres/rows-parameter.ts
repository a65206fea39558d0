/** A column of a rows parameter: its type in Postgres, and its value in a row; undefined and null are NULL. */
export type Column<Row> = readonly [name: string, type: string, of: (row: Row) => unknown];

/**
 * Rows that a statement takes as one array per column, `unnest($1::bigint[], $2::text[]) AS t (id, name)`: one parse for any number of
 * rows. Declares each column once, so that names, types and values cannot get out of step.
 */
export class RowsParameter<Row> {
  /** The columns' names, for the list of an INSERT. */
  readonly names: string;
  private readonly columns: readonly Column<Row>[];

  constructor(...columns: readonly Column<Row>[]) {
    this.columns = columns;
    this.names = columns.map(([name]) => name).join(', ');
  }

  /** SQL: the rows as table `t`. @param first the number of the first of its parameters, which `values` returns */
  from(first = 1): string {
    const arrays = this.columns.map(([, type], n) => `$${first + n}::${type}[]`);
    return `unnest(${arrays.join(', ')}) AS t (${this.names})`;
  }

  /** SQL: like `from`, with each row's number from 1 on as column `n`. */
  numberedFrom(first = 1): string {
    return this.from(first).replace(/ AS t \((.*)\)$/, ' WITH ORDINALITY AS t ($1, n)');
  }

  /** Returns the statement's parameters. A column without any value is a single NULL, which `unnest` extends to all rows. */
  values(rows: readonly Row[]): (readonly unknown[] | null)[] {
    return this.columns.map(([, , of]) => {
      const values = rows.map((row) => of(row) ?? null);
      return values.every((value) => value === null) ? null : values;
    });
  }
}
