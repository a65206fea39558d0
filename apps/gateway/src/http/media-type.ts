import { Refusal } from '../problems/refusal.js';
import type { BodyRule } from './rule.js';

const wanted: Readonly<Record<BodyRule['kind'], string>> = {
  json: 'application/json',
  form: 'application/x-www-form-urlencoded',
  oauthForm: 'application/x-www-form-urlencoded',
  multipart: 'multipart/form-data',
  lines: 'application/x-ndjson',
};

/**
 * @throws Refusal `unsupported-media-type` unless the header names the one type that the route takes, in UTF-8 where a
 * charset is named
 */
export function checkMediaType(header: string | undefined, kind: BodyRule['kind']): void {
  const type = wanted[kind];
  if (header === type) return;
  const [given = '', ...parameters] = (header ?? '').split(';').map((part) => part.trim().toLowerCase());
  const charset = parameters.find((one) => one.startsWith('charset='))?.slice('charset='.length).replaceAll('"', '');
  if (given !== type || (charset !== undefined && charset !== 'utf-8' && charset !== 'utf8')) {
    throw new Refusal('unsupported-media-type', `Send the body with Content-Type: ${type}.`);
  }
}
