import type { Role } from './people-reads.js';

export const roles: readonly Role[] = ['customer', 'staff', 'admin'];
export const tabs = ['users', 'clients', 'audit'] as const;
export type PeopleTab = (typeof tabs)[number];

/** What the address says: the open tab and its filters. */
export interface PeopleSearch {
  /** Absent: users. */
  readonly tab?: PeopleTab;
  /** Users whose names begin with it. */
  readonly q?: string;
  readonly role?: Role;
  /** Who did what the audit log lists. */
  readonly by?: string;
  readonly operation?: string;
}

export function peopleSearch({ tab: askedTab, q, role: askedRole, by, operation }: Record<string, unknown>): PeopleSearch {
  const tab = tabs.find((one) => one === askedTab);
  const role = roles.find((one) => one === askedRole);
  return {
    ...(tab && { tab }),
    ...(isText(q) && { q }),
    ...(role && { role }),
    ...(isText(by) && { by }),
    ...(isText(operation) && { operation }),
  };
}

const isText = (value: unknown): value is string => typeof value === 'string' && value !== '';
