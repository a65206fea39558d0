import { describe, expect, it } from '@jest/globals';
import type { NewOAuthClient } from '@plant-shop/contracts/identity.oauth';
import { clientFaults } from './oauth-client.js';

describe('what a client may be', () => {
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
  const faultsAt = (client: Client): string[] => clientFaults(client).map(({ pointer }) => pointer);

  it('is an application, a public one, a program, or both', () => {
    for (const one of [
      application,
      program,
      { ...application, public: true },
      { ...application, ...program, grantTypes: ['authorization_code', 'client_credentials'] } as Client,
    ])
      expect(clientFaults(one)).toEqual([]);
  });

  it.each<[string, Client, string]>([
    ['an application without an address', { ...application, redirectUris: [] }, '/client/redirectUris'],
    ['a program with one', { ...program, redirectUris: ['https://a.example/'] }, '/client/redirectUris'],
    ['a refresh token without a code', { ...program, grantTypes: ['client_credentials', 'refresh_token'] }, '/client/grantTypes'],
    ['a public program', { ...program, public: true }, '/client/public'],
    ['a program that acts for nobody', { name: 'x', grantTypes: ['client_credentials'], scopes: ['write:stock'] }, '/client/owner'],
    ['an owner who is not acted for', { ...application, owner: 'ada' }, '/client/owner'],
  ])('is not %s', (_, client, pointer) => {
    expect(faultsAt(client)).toEqual([pointer]);
  });

  it.each([
    'https://app.example',
    'https://app.example/a?b=c',
    'https://app.example:8443/a',
    'http://127.0.0.1:1234/a',
    'http://localhost/a',
    'http://[::1]/a',
  ])('is led back to %s', (uri) => {
    expect(faultsAt({ ...application, redirectUris: [uri] })).toEqual([]);
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
  ])('is not led back to %s', (uri) => {
    expect(faultsAt({ ...application, redirectUris: [uri] })).toEqual(['/client/redirectUris/0']);
  });
});
