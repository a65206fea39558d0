import type { Role } from './people-reads.js';

export const roles: readonly Role[] = ['customer', 'staff', 'admin'];
export const tabs = ['users', 'clients', 'audit'] as const;
type PeopleTab = (typeof tabs)[number];

/** The open tab and its filters, kept in the URL. */
export interface PeopleSearch {
  /** Absent: users. */
  readonly tab?: PeopleTab;
  /** Prefix of usernames. */
  readonly q?: string;
  readonly role?: Role;
  /** Username of the actor in the audit log. */
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
