import type { components } from '@plant-shop/client';
import { type InfiniteData, useInfiniteQuery, type UseInfiniteQueryResult, useQuery, type UseQueryResult } from '@tanstack/react-query';
import { useShop } from '../../auth/session.js';
import { nextCursor } from '../../ui/next-cursor.js';
import type { PeopleSearch } from './people-search.js';

export type User = components['schemas']['User'];
export type Role = NonNullable<User['role']>;
export type OpenSession = components['schemas']['Session'];
export type Factor = components['schemas']['Factor'];
export type ApiKey = components['schemas']['ApiKey'];
export type OAuthClient = components['schemas']['OAuthClient'];
export type AuditEntry = components['schemas']['AuditEntry'];
/** Permissions that keys and clients can be restricted to. */
export type GrantedPermission = ApiKey['permissions'][number];

export interface ListPage<Entry> {
  readonly entries: readonly Entry[];
  readonly next: string | undefined;
}

/** A user with the ETag, for conditional requests. */
export interface SeenUser {
  readonly user: User;
  readonly etag: string | undefined;
}

const pageSize = 50;
/** Refetched regularly, since others change them. */
const personMs = 5_000;
const listMs = 10_000;

export function useUsers({ q, role }: { readonly q: string | undefined; readonly role: Role | undefined }): UseInfiniteQueryResult<InfiniteData<ListPage<User>>> {
  const shop = useShop();
  return useInfiniteQuery({
    queryKey: ['users', { q, role }],
    refetchInterval: listMs,
    initialPageParam: undefined as string | undefined,
    queryFn: async ({ pageParam: cursor, signal }) => {
      const query = { limit: pageSize, ...(q !== undefined && { search: q }), ...(role && { role }), ...(cursor !== undefined && { cursor }) };
      const { data, response } = await shop.GET('/user', { params: { query }, signal });
      return { entries: data, next: nextCursor(response) };
    },
    getNextPageParam: ({ next }) => next,
  });
}

/** Which entries of the audit log are wanted. */
export type AuditFilter = { readonly [Name in 'by' | 'operation' | 'from' | 'to']: PeopleSearch[Name] | undefined };

export const auditQuery = ({ by, operation, from, to }: AuditFilter): { subject?: string; operation?: string; from?: string; to?: string } => ({
  ...(by !== undefined && { subject: by }),
  ...(operation !== undefined && { operation }),
  ...(from !== undefined && { from }),
  ...(to !== undefined && { to }),
});

export function useAudit(filter: AuditFilter): UseInfiniteQueryResult<InfiniteData<ListPage<AuditEntry>>> {
  const shop = useShop();
  return useInfiniteQuery({
    queryKey: ['audit', filter],
    refetchInterval: listMs,
    initialPageParam: undefined as string | undefined,
    queryFn: async ({ pageParam: cursor, signal }) => {
      const { data, response } = await shop.GET('/audit', { params: { query: { limit: pageSize, ...auditQuery(filter), ...(cursor !== undefined && { cursor }) } }, signal });
      return { entries: data, next: nextCursor(response) };
    },
    getNextPageParam: ({ next }) => next,
  });
}

export function useUser(username: string): UseQueryResult<SeenUser> {
  const shop = useShop();
  return useQuery({
    queryKey: ['user', username],
    refetchInterval: personMs,
    queryFn: async ({ signal }) => {
      const { data, response } = await shop.GET('/user/{username}', { params: { path: { username } }, signal });
      return { user: data, etag: response.headers.get('etag') ?? undefined };
    },
  });
}

export function useSessions(username: string): UseQueryResult<readonly OpenSession[]> {
  const shop = useShop();
  return useQuery({
    queryKey: ['user', username, 'sessions'],
    refetchInterval: personMs,
    queryFn: async ({ signal }) => (await shop.GET('/user/{username}/sessions', { params: { path: { username } }, signal })).data,
  });
}

export function useFactors(username: string): UseQueryResult<readonly Factor[]> {
  const shop = useShop();
  return useQuery({ queryKey: ['user', username, 'factors'], refetchInterval: personMs, queryFn: async ({ signal }) => (await shop.GET('/user/{username}/factors', { params: { path: { username } }, signal })).data });
}

export function useApiKeys(username: string): UseQueryResult<readonly ApiKey[]> {
  const shop = useShop();
  return useQuery({ queryKey: ['user', username, 'apiKeys'], refetchInterval: personMs, queryFn: async ({ signal }) => (await shop.GET('/user/{username}/apiKeys', { params: { path: { username } }, signal })).data });
}

export function useOAuthClients(): UseQueryResult<readonly OAuthClient[]> {
  const shop = useShop();
  return useQuery({ queryKey: ['oauthClients'], refetchInterval: listMs, queryFn: async ({ signal }) => (await shop.GET('/oauth/clients', { signal })).data });
}

/** Names of OAuth clients by their ids. */
export function useApplicationNames(): ReadonlyMap<string, string> {
  const { data } = useOAuthClients();
  return new Map(data?.map(({ clientId, name }) => [clientId, name]));
}
