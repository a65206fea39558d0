import type { Order } from '../../shop/day.js';

/** Orders that are chosen for an action. */
export interface Selection {
  readonly ids: ReadonlySet<number>;
  /** The order at which a range begins. */
  readonly anchor?: number;
  /** The order on which the keyboard is. */
  readonly current?: number;
}

export const nothingSelected: Selection = { ids: new Set() };

type Rows = readonly Pick<Order, 'id'>[];

function idsBetween(rows: Rows, one: number | undefined, other: number): readonly number[] {
  const [from, to] = [one, other].map((wanted) => rows.findIndex(({ id }) => id === wanted)).sort((a, b) => a - b);
  if (from === undefined || to === undefined || from === -1) return [other];
  return rows.slice(from, to + 1).map(({ id }) => id);
}

/** One more order, or one less. */
export function toggled({ ids }: Selection, id: number): Selection {
  const next = new Set(ids);
  if (!next.delete(id)) next.add(id);
  return { ids: next, anchor: id, current: id };
}

/** All orders from the last one that was chosen. @param keeps whether orders outside of the range stay chosen */
export function extended({ ids, anchor, current }: Selection, rows: Rows, to: number, keeps: boolean): Selection {
  const from = anchor ?? current ?? to;
  return { ids: new Set([...(keeps ? ids : []), ...idsBetween(rows, from, to)]), anchor: from, current: to };
}
