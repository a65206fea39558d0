import { permissionMeanings as scopes } from '@plant-shop/contracts/permissions';
import type { ClientOperation } from '@plant-shop/contracts/client-operation';

type Requirement = Readonly<Record<string, readonly string[]>>;

export const securitySchemes = (publicUrl: string): object => ({
  apiKey: {
    type: 'apiKey',
    in: 'header',
    name: 'api_key',
    description: 'Created with `POST /user/{username}/apiKeys`, with its own permissions.',
  },
  oauth2: {
    type: 'oauth2',
    description: `Discovery: ${publicUrl}/.well-known/oauth-authorization-server`,
    flows: {
      clientCredentials: { tokenUrl: `${publicUrl}/oauth/token`, scopes },
      authorizationCode: {
        authorizationUrl: `${publicUrl}/oauth/authorize`,
        tokenUrl: `${publicUrl}/oauth/token`,
        refreshUrl: `${publicUrl}/oauth/token`,
        scopes,
      },
    },
  },
  session: {
    type: 'http',
    scheme: 'bearer',
    description: 'The token that `GET /user/login` returns, with the permissions of its user.',
  },
  sessionToken: { type: 'apiKey', in: 'header', name: 'session_token', description: 'The session token in its own header.' },
});

const schemes = ['apiKey', 'oauth2', 'session', 'sessionToken'];
const sessions: readonly Requirement[] = [{ session: [] }, { sessionToken: [] }];
const anyOf = (named: readonly string[]): Requirement[] => schemes.map((scheme) => ({ [scheme]: named }));

/** Returns an operation's access policy as alternatives. For schemes other than OAuth too, the scopes name permissions. */
export function securityOf({ access, readsSession }: ClientOperation): readonly Requirement[] {
  switch (access.kind) {
    case 'open':
      return readsSession ? [{}, ...sessions] : [];
    case 'optional':
      return [{}, ...anyOf([])];
    case 'authenticated':
      return anyOf([]);
    case 'permission':
      return [...(access.orKind ? [{ [access.orKind]: [] }] : []), ...access.anyOf.flatMap((one) => anyOf([one]))];
  }
}

