import type { Session } from '../../auth/session.js';
import { Cell } from '../../shop/cell.js';
import type { Order } from '../../shop/day.js';
import { prefix } from '../../ui/drafts.js';
import type { BulkRun } from './bulk/bulk-run.js';
import { OrderList } from './order-list.js';
import type { TabFilter } from './order-query.js';
import type { Selection } from './selection.js';

/** Lists that are kept: those of the tabs, and one more. */
const mostLists = 6;

/** What stays of the orders page when its reader opens an order or another tab: "Back" finds the list, the selection and a change under way as they were. */
export class OrderDesk {
  /** A change of many orders, which goes on while other pages are open. */
  readonly run = new Cell<BulkRun | undefined>(undefined);
  private readonly selections = new Map<string, Cell<Selection>>();
  /** The one shown last is the last. */
  private readonly lists = new Map<string, OrderList>();

  constructor(private readonly session: Session) {}

  /** The last list stays live; the others rest. @param key the filter as text */
  listOf(key: string, seesAll: boolean): OrderList {
    const name = `${seesAll} ${key}`;
    const [shown] = [...this.lists].slice(-1);
    if (shown?.[0] === name) return shown[1];
    shown?.[1].rest();
    const list = this.lists.get(name) ?? new OrderList(this.session.shop, this.session.live, JSON.parse(key) as TabFilter, seesAll);
    this.lists.delete(name);
    this.lists.set(name, list);
    const [oldest] = this.lists;
    if (oldest && this.lists.size > mostLists) {
      oldest[1].close();
      this.lists.delete(oldest[0]);
    }
    return list;
  }

  /** An order as one of the lists has it. */
  orderOf(id: number): Order | undefined {
    return [...this.lists.values()].flatMap((list) => list.state.get().rows.find((row) => row.id === id) ?? []).at(-1);
  }

  /** The tab keeps it as it keeps drafts: it outlasts a reload. */
  selectionOf(key: string): Cell<Selection> {
    const known = this.selections.get(key) ?? this.keptSelection(`${prefix}${this.session.person.get().username} selected orders ${key}`);
    this.selections.set(key, known);
    return known;
  }

  private keptSelection(name: string): Cell<Selection> {
    const cell = new Cell<Selection>({ ids: new Set(JSON.parse(sessionStorage.getItem(name) ?? '[]') as number[]) });
    let kept = cell.get().ids;
    cell.subscribe(() => {
      const { ids } = cell.get();
      if (ids === kept) return;
      kept = ids;
      if (ids.size === 0) sessionStorage.removeItem(name);
      else sessionStorage.setItem(name, JSON.stringify([...ids]));
    });
    return cell;
  }
}

const desks = new WeakMap<Session, OrderDesk>();

/** One per session. */
export function deskOf(session: Session): OrderDesk {
  const known = desks.get(session) ?? new OrderDesk(session);
  desks.set(session, known);
  return known;
}
