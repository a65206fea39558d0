import { Cell } from '../../shop/cell.js';
import { searchText } from '../../ui/page-search.js';
import type { Role } from './people-reads.js';

export const roles: readonly Role[] = ['customer', 'staff', 'admin'];
export const tabs = ['users', 'clients', 'audit'] as const;
type PeopleTab = (typeof tabs)[number];

/** The open tab and its filters, kept in the URL. */
export interface PeopleSearch {
  /** Absent: users. */
  readonly tab?: PeopleTab;
  /** Beginning of usernames and names, or an e-mail address. */
  readonly q?: string;
  readonly role?: Role;
  /** Username of the actor in the audit log. */
  readonly by?: string;
  readonly operation?: string;
  /** Instants: from the first on, and before the second. */
  readonly from?: string;
  readonly to?: string;
}

/** The list as it was left last, to go back to. */
export const leftPeople = new Cell<PeopleSearch>({});

export function peopleSearch({ tab: askedTab, role: askedRole, from, to, ...texts }: Record<string, unknown>): PeopleSearch {
  const [q, by, operation] = [searchText(texts['q']), searchText(texts['by']), searchText(texts['operation'])];
  const tab = tabs.find((one) => one === askedTab);
  const role = roles.find((one) => one === askedRole);
  return {
    ...(tab && { tab }),
    ...(q !== undefined && { q }),
    ...(role && { role }),
    ...(by !== undefined && { by }),
    ...(operation !== undefined && { operation }),
    ...(isInstant(from) && { from }),
    ...(isInstant(to) && { to }),
  };
}

const isInstant = (value: unknown): value is string => typeof value === 'string' && /^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(value) && !Number.isNaN(Date.parse(value));
