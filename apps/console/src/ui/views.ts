import { Cell } from '../shop/cell.js';

/** A filter and order of a list, under a name that its user gave it. */
export interface View<Search> {
  readonly name: string;
  readonly search: Search;
}

export type ViewedList = 'orders' | 'plants';

/** Of one list. */
export const mostViews = 50;
export const longestName = 60;

/** The views of one list that this browser keeps for an account. They outlast the session, and other tabs see them, too. */
class Views<Search extends object> {
  readonly all: Cell<readonly View<Search>[]>;
  private readonly key: string;

  /** @param readSearch reads the search of an address, as the page does */
  constructor(username: string, list: ViewedList, private readonly readSearch: (search: Record<string, unknown>) => Search) {
    this.key = `console-views ${list} ${username}`;
    this.all = new Cell(this.read());
    addEventListener('storage', ({ key }) => {
      if (key === this.key) this.all.set(this.read());
    });
  }

  named(name: string): View<Search> | undefined {
    return this.all.get().find((one) => isSame(one.name, name));
  }

  /** Replaces a view of the same name. @throws DOMException if the browser keeps no more */
  save(view: View<Search>): void {
    const others = this.all.get().filter(({ name }) => !isSame(name, view.name));
    this.write([...others, view].sort((one, other) => one.name.localeCompare(other.name)));
  }

  rename(from: string, to: string): void {
    const view = this.named(from);
    if (!view) return;
    this.write(this.all.get().map((one) => (one === view ? { ...one, name: to } : one)).sort((one, other) => one.name.localeCompare(other.name)));
  }

  delete(name: string): void {
    this.write(this.all.get().filter((one) => !isSame(one.name, name)));
  }

  private write(views: readonly View<Search>[]): void {
    if (views.length === 0) localStorage.removeItem(this.key);
    else localStorage.setItem(this.key, JSON.stringify(views));
    this.all.set(views);
  }

  /** Ignores what is no view: anything can write into the browser's storage. */
  private read(): readonly View<Search>[] {
    const kept = parsed(localStorage.getItem(this.key));
    if (!Array.isArray(kept)) return [];
    return kept.flatMap((one: unknown) => {
      const { name, search } = (one ?? {}) as Partial<Record<string, unknown>>;
      return typeof name === 'string' && typeof search === 'object' && search !== null ? [{ name, search: this.readSearch(search as Record<string, unknown>) }] : [];
    });
  }
}

const known = new Map<string, unknown>();

/** One per account and list. @param readSearch reads the search of an address, as the page does */
export function viewsOf<Search extends object>(username: string, list: ViewedList, readSearch: (search: Record<string, unknown>) => Search): Views<Search> {
  const key = `${list} ${username}`;
  const views = (known.get(key) as Views<Search> | undefined) ?? new Views(username, list, readSearch);
  known.set(key, views);
  return views;
}

/** @returns undefined for what is no JSON */
function parsed(text: string | null): unknown {
  try {
    return JSON.parse(text ?? '[]') as unknown;
  } catch {
    return undefined;
  }
}

const isSame = (one: string, other: string): boolean => one.trim().toLowerCase() === other.trim().toLowerCase();
