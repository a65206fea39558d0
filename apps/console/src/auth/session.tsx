import { createShop, type Shop } from '@plant-shop/client';
import { createContext, type ReactNode, use, useSyncExternalStore } from 'react';
import type { Settings } from '../app/settings.js';
import { Cell } from '../shop/cell.js';
import { Connection } from '../shop/connection.js';
import { LiveEvents } from '../shop/live-events.js';
import { rememberLogOut } from './login.js';
import { PasswordQuestion } from './password-question.js';
import { type Permission, permissionsOfRole } from './permissions.js';
import { refusedPermissions } from './refused-permissions.js';
import { type Grant, type Person, Tokens } from './tokens.js';

/** How long calls wait for an unreachable shop. The banner appears after the first failure. */
const deadlineMs = 15_000;

/** A logged-in user's session: the shop's client, the live events, and what the user may do. */
export class Session {
  readonly shop: Shop;
  readonly connection = new Connection();
  readonly passwordQuestion = new PasswordQuestion();
  readonly live: LiveEvents;
  /** The OAuth client by which people log in to the console. */
  readonly clientId: string;
  readonly person = new Cell<Person>({ username: '', permissions: new Set() });
  /** What the user might do when the page was opened, and may not any more. */
  readonly lost = new Cell<ReadonlySet<Permission>>(new Set());
  /** Why the session ended; undefined while it lasts. */
  readonly ended = new Cell<'logged-out' | 'ended' | undefined>(undefined);
  private readonly tokens: Tokens;
  /** As the token says. */
  private granted = this.person.get();
  private following: Promise<void> | undefined;
  /** Aborted when the user logs out. */
  private readonly leaving = new AbortController();

  constructor(settings: Settings, grant: Grant) {
    this.clientId = settings.oauthClient;
    this.tokens = new Tokens(
      settings.oauthClient,
      grant,
      (person) => {
        this.granted = person;
        this.person.set({ ...person, permissions: new Set([...person.permissions].filter((one) => !this.lost.get().has(one))) });
      },
      () => this.ended.set('ended'),
      () => this.connection.suspect(),
    );
    this.shop = createShop({
      url: location.origin,
      streamUrl: settings.streamUrl === '' ? location.origin : settings.streamUrl,
      credential: { token: this.tokens.next },
      deadlineMs,
      fetch: this.fetch,
    });
    this.live = new LiveEvents(this.shop, () => this.connection.suspect());
  }

  private readonly fetch: typeof globalThis.fetch = async (input, init) => {
    const leaving = this.leaving.signal;
    const own = init?.signal;
    try {
      const first = await this.connection.fetch(input, { ...init, signal: own ? AbortSignal.any([own, leaving]) : leaving });
      const response = await this.passwordQuestion.askIfRequired(first, init, (repeated) => this.connection.fetch(input, repeated));
      this.lose([...this.lost.get(), ...refusedPermissions(response)]);
      // What the user may not see any more is not there.
      if (response.status === 403 || response.status === 404) void this.followRole();
      return response;
    } catch (error) {
      // The page that waits for the answer is about to close, and must not show an error before.
      if (leaving.aborted) await new Promise((_, reject) => own?.addEventListener('abort', () => reject(own.reason as Error)));
      throw error;
    }
  };

  private lose(lost: readonly Permission[]): void {
    const granted = [...this.granted.permissions];
    const found = new Set(granted.filter((one) => lost.includes(one)));
    const known = this.lost.get();
    if (found.size === known.size && [...found].every((one) => known.has(one))) return;
    this.lost.set(found);
    this.person.set({ ...this.granted, permissions: new Set(granted.filter((one) => !lost.includes(one))) });
  }

  /** Reads what the role allows now: with what was refused, more may be gone, and it may be given back. */
  followRole(): Promise<void> {
    return (this.following ??= this.readRole().finally(() => (this.following = undefined)));
  }

  private async readRole(): Promise<void> {
    try {
      const { data: { role } } = await this.shop.GET('/user/me');
      if (role !== undefined) this.lose([...this.granted.permissions].filter((one) => !permissionsOfRole[role].includes(one)));
    } catch {
      // The next refusal asks again.
    }
  }

  /** Gets the first token, which has the user's permissions. Asks identity alone: the console opens without the other services. */
  async open(): Promise<void> {
    await this.shop.GET('/user/me');
  }

  /** Aborts the calls under way, since they would be refused as soon as the tokens are revoked. */
  async logOut(): Promise<void> {
    rememberLogOut();
    this.live.close();
    this.leaving.abort();
    try {
      await this.tokens.revoke();
    } finally {
      this.ended.set('logged-out');
    }
  }
}

const SessionContext = createContext<Session | undefined>(undefined);

export const SessionProvider = ({ session, children }: { readonly session: Session; readonly children: ReactNode }): ReactNode => (
  <SessionContext value={session}>{children}</SessionContext>
);

export function useSession(): Session {
  const session = use(SessionContext);
  if (!session) throw new Error('No session here');
  return session;
}

/** The shop's client, with the user's credential. */
export const useShop = (): Shop => useSession().shop;

/** Whether the user has one of the permissions. Pages offer nothing else, and the API enforces it. */
export function useMay(...anyOf: readonly Permission[]): boolean {
  const { permissions } = usePerson();
  return anyOf.some((one) => permissions.has(one));
}

/** The logged-in user. */
export const usePerson = (): Person => useCell(useSession().person);

export const useCell = <Value,>(cell: Cell<Value>): Value => useSyncExternalStore(cell.subscribe, cell.get);
