import { Cell } from '../../shop/cell.js';
import { searchTexts } from '../../ui/page-search.js';
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

export function peopleSearch(search: Record<string, unknown>): PeopleSearch {
  const { from, to } = search;
  const tab = tabs.find((one) => one === search['tab']);
  const role = roles.find((one) => one === search['role']);
  return {
    ...searchTexts(search, 'q', 'by', 'operation'),
    ...(tab && { tab }),
    ...(role && { role }),
    ...(isInstant(from) && { from }),
    ...(isInstant(to) && { to }),
  };
}

const isInstant = (value: unknown): value is string => typeof value === 'string' && /^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(value) && !Number.isNaN(Date.parse(value));
