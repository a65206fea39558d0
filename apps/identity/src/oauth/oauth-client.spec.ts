import { describe, expect, it } from '@jest/globals';
import type { NewOAuthClient } from '@plant-shop/contracts/identity.oauth';
import { clientErrors } from './oauth-client.js';

describe('an OAuth client', () => {
  type Client = Pick<NewOAuthClient, keyof NewOAuthClient>;
  const application: Client = {
    name: 'Garden planner',
    redirectUris: ['https://app.example/callback'],
    grantTypes: ['authorization_code', 'refresh_token'],
    scopes: ['write:orders'],
  };
  const program: Client = {
    name: 'Warehouse',
    grantTypes: ['client_credentials'],
    scopes: ['write:stock'],
    owner: 'ada',
  };
  const errorsAt = (client: Client): string[] => clientErrors(client).map(({ pointer }) => pointer);

  it('may be an application, a public application, a program, or application and program', () => {
    for (const one of [
      application,
      program,
      { ...application, public: true },
      { ...application, ...program, grantTypes: ['authorization_code', 'client_credentials'] } as Client,
    ])
      expect(clientErrors(one)).toEqual([]);
  });

  it.each<[string, Client, string]>([
    ['an application without a redirect URI', { ...application, redirectUris: [] }, '/client/redirectUris'],
    ['a program with a redirect URI', { ...program, redirectUris: ['https://a.example/'] }, '/client/redirectUris'],
    ['a refresh token without a code', { ...program, grantTypes: ['client_credentials', 'refresh_token'] }, '/client/grantTypes'],
    ['a public program', { ...program, public: true }, '/client/public'],
    ['a program without an owner', { name: 'x', grantTypes: ['client_credentials'], scopes: ['write:stock'] }, '/client/owner'],
    ['an application with an owner', { ...application, owner: 'ada' }, '/client/owner'],
  ])('may not be %s', (_, client, pointer) => {
    expect(errorsAt(client)).toEqual([pointer]);
  });

  it.each([
    'https://app.example',
    'https://app.example/a?b=c',
    'https://app.example:8443/a',
    'http://127.0.0.1:1234/a',
    'http://localhost/a',
    'http://[::1]/a',
  ])('may have the redirect URI %s', (uri) => {
    expect(errorsAt({ ...application, redirectUris: [uri] })).toEqual([]);
  });

  it.each([
    'http://app.example/a',
    'http://127.0.0.1.evil.example/',
    'https://app.example/a#b',
    'https://app.example/a#',
    'https://user:pass@app.example/',
    'https://app.example:443/a',
    'https://APP.example/a',
    'https://app.example/a/../b',
    'https:app.example',
    ' https://app.example/',
    'javascript:alert(1)',
    'data:text/html,x',
    'com.example.app:/callback',
    '/callback',
    '*',
  ])('may not have the redirect URI %s', (uri) => {
    expect(errorsAt({ ...application, redirectUris: [uri] })).toEqual(['/client/redirectUris/0']);
  });
});
