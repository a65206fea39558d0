import type { Session } from '../../auth/session.js';
import { Cell } from '../../shop/cell.js';
import type { BulkRun } from './bulk/bulk-run.js';
import { OrderList } from './order-list.js';
import type { TabFilter } from './order-query.js';
import { nothingSelected, type Selection } from './selection.js';

/** What stays of the orders page when its reader opens an order: "Back" finds the list, the selection and a change under way as they were. */
export class OrderDesk {
  /** A change of many orders, which goes on while other pages are open. */
  readonly run = new Cell<BulkRun | undefined>(undefined);
  private readonly selections = new Map<string, Cell<Selection>>();
  private last: { readonly name: string; readonly list: OrderList } | undefined;

  constructor(private readonly session: Session) {}

  /** The last list stays live. @param key the filter as text */
  listOf(key: string, seesAll: boolean): OrderList {
    const name = `${seesAll} ${key}`;
    if (this.last?.name === name) return this.last.list;
    this.last?.list.close();
    const list = new OrderList(this.session.shop, this.session.live, JSON.parse(key) as TabFilter, seesAll);
    this.last = { name, list };
    return list;
  }

  selectionOf(key: string): Cell<Selection> {
    const known = this.selections.get(key) ?? new Cell(nothingSelected);
    this.selections.set(key, known);
    return known;
  }
}

const desks = new WeakMap<Session, OrderDesk>();

/** One per session. */
export function deskOf(session: Session): OrderDesk {
  const known = desks.get(session) ?? new OrderDesk(session);
  desks.set(session, known);
  return known;
}
