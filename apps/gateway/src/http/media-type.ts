import { HttpError } from '@plant-shop/contracts/problem';
import type { BodySpec } from '@plant-shop/contracts/client-operation';

const expectedTypes: Readonly<Record<BodySpec['kind'], string>> = {
  json: 'application/json',
  form: 'application/x-www-form-urlencoded',
  oauthForm: 'application/x-www-form-urlencoded',
  multipart: 'multipart/form-data',
  lines: 'application/x-ndjson',
};

/**
 * Checks the Content-Type.
 * @throws HttpError `unsupported-media-type` unless it is the type that the route accepts, in UTF-8 if it names a charset
 */
export function checkMediaType(header: string | undefined, kind: BodySpec['kind']): void {
  const type = expectedTypes[kind];
  if (header === type) return;
  const [given = '', ...parameters] = (header ?? '').split(';').map((part) => part.trim().toLowerCase());
  const charset = parameters.find((one) => one.startsWith('charset='))?.slice('charset='.length).replaceAll('"', '');
  if (given !== type || (charset !== undefined && charset !== 'utf-8' && charset !== 'utf8')) {
    throw new HttpError('unsupported-media-type', `Send the body with Content-Type: ${type}.`);
  }
}
